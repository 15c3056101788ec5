import type { Command } from 'commander';
import { Config, ConfigError } from '../core/config.js';
import type { ErasureService } from '../erasure/erasure.service.js';
import type { Erasure } from '../http/responses/api-types.js';
import { createErasureService, withDatabase } from './context/command-context.js';
import { argumentOrInput } from './terminal/argument-or-input.js';
import { emailAddress, reason } from './terminal/options.js';
import { auditContextOf, aligned, print, withIdName } from './terminal/output.js';
import { askVisible } from './terminal/passphrase.js';

const parseEmail = emailAddress('The address');

/** Opens the database, repeats the erasures that it lacks after a restore, and passes the erasure service to `work`. */
const withErasures = <T>(work: (erasures: ErasureService) => Promise<T>) =>
  withDatabase(
    async (context) => {
      const erasures = await createErasureService(context);
      // The database may be a restored backup that no service has used yet. Without this call, `list` would show a request that was
      // carried out or cancelled after the backup as waiting.
      await erasures.replay();
      return work(erasures);
    },
    { config: configForErasures() },
  );

/**
 * Reads the settings. In production TOMBSTONE_FILE must be set: if the command runs on another machine than the service, the
 * default would not be the file of the service.
 * @throws ConfigError
 */
function configForErasures(): Config {
  const config = new Config(process.env);
  if (config.isProduction && !config.isTombstoneFileGiven)
    throw new ConfigError(
      'In production, erasures need TOMBSTONE_FILE: the file of the running service, which records what a restore must erase again.',
    );
  return config;
}

/** Adds the commands of `erasure`. */
export function erasureCommands(erasure: Command): void {
  erasure
    .command('request')
    .argument(
      '[email]',
      'the e-mail address whose data is to be deleted; - reads it from standard input; without it, the terminal asks',
    )
    .description('request the deletion of all data of a person, without the three days to cancel')
    .requiredOption('--reason <text>', 'why, for the audit trail, without names', reason)
    .action(request);
  erasure.command('run').description('carry out every request that is due').action(run);
  erasure.command('list').description('list the requests, the most urgent first').action(list);
}

async function request(
  argument: string | undefined,
  options: { reason: string },
  command: Command,
): Promise<void> {
  // An argument stays in the history of the shell and in the log of sudo. What is typed is shown, because an erasure is final.
  const email = parseEmail(await argumentOrInput(argument, 'E-mail address', askVisible));
  const requested = await withErasures((erasures) =>
    erasures.request(email, auditContextOf(command, options.reason)),
  );
  const next = 'It is carried out by a running service, or now by `mooring erasure run`.';
  print(command, toValue(requested), `${erasureTable([requested])}\n${next}`);
}

async function run(_options: unknown, command: Command): Promise<void> {
  const { completed, errors } = await withErasures((erasures) => erasures.runDue(auditContextOf(command)));
  const text = completed.length > 0 ? erasureTable(completed) : 'Nothing is due.';
  if (completed.length > 0 || errors.length === 0) print(command, completed.map(toValue), text);
  // The first error becomes the message and the exit code of the command.
  if (errors.length > 0) throw errors[0];
}

async function list(_options: unknown, command: Command): Promise<void> {
  const requests = await withErasures((erasures) => erasures.list());
  print(
    command,
    requests.map(toValue),
    requests.length > 0 ? erasureTable(requests) : 'There are no requests.',
  );
}

const toValue = (request: Erasure) => withIdName('erasure', request);

const STATES = { waiting: 'waiting', honoured: 'carried out', taken_back: 'cancelled' };

function erasureTable(requests: readonly Erasure[]): string {
  const head = ['Request', 'E-mail', 'State', 'Received', 'Due', 'Days left'];
  const rows = requests.map(({ id, email, state, received_on, due_on, days_left }) => [
    id,
    email ?? '-',
    STATES[state],
    received_on,
    due_on,
    days_left === null ? '-' : String(days_left),
  ]);
  return aligned([head, ...rows]);
}
