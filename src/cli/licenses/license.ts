import type { Command } from 'commander';
import { validate as isUuid } from 'uuid';
import { findLicenses } from '../../activation/license-overview.js';
import type { Activation, LicenseView } from '../../http/responses/api-types.js';
import { utcDay } from '../../core/clock.js';
import { ON_EXPIRY, type OnExpiry } from '../../core/config.js';
import { Invalid } from '../../core/field.js';
import { definedMembers } from '../../core/json-object.js';
import { emailField } from '../../fields/email.js';
import { licenseKeyHash } from '../../keys/license-key.js';
import { hasValidCheckSymbol, readLicenseKey, withServicePrefix } from '../../keys/license-key-text.js';
import { STAFF_STATUSES, type StaffStatus } from '../../licenses/license.rules.js';
import type { LicenseChange, LicensesService } from '../../licenses/licenses.service.js';
import {
  createLicensesService,
  openLicenseKeys,
  withDatabase,
  type CommandContext,
} from '../context/command-context.js';
import { importCommand } from './license-import.js';
import {
  addPageOptions,
  listCommand,
  nextPageText,
  readLicensePage,
  shellWord,
  type PageOptions,
} from './license-list.js';
import { argumentOrInput } from '../terminal/argument-or-input.js';
import {
  choiceOption,
  emailAddress,
  expiry,
  machines,
  moment,
  ON_EXPIRY_TEXT,
  reason,
  rowId,
} from '../terminal/options.js';
import {
  auditContextOf,
  aligned,
  explainNotFound,
  print,
  printMessage,
  withIdName,
  CommandError,
  UsageError,
} from '../terminal/output.js';

const NOT_FOUND =
  'No license has this id: `mooring license show` finds it by the key, the transaction or the e-mail address.';

/** Opens the database, and passes the service to `work`. */
const withLicenses = <T>(work: (licenses: LicensesService, context: CommandContext) => Promise<T>) =>
  withDatabase(async (context) => work(await createLicensesService(context), context));

interface IssueOptions {
  readonly email: string;
  readonly machines?: number;
  readonly expires?: Date;
  readonly onExpiry?: OnExpiry;
}

interface SetOptions extends Omit<IssueOptions, 'email' | 'expires'> {
  readonly email?: string;
  readonly expires?: Date | 'never';
  readonly status?: StaffStatus;
  readonly reason: string;
}

/** Adds the commands of `license`. The file is long, because it declares all of them with their options and texts. */
export function licenseCommands(license: Command): void {
  license
    .command('issue')
    .description('issue a license and print its key')
    .requiredOption('--email <address>', 'the e-mail address of the holder', emailAddress('--email'))
    .option('--machines <n>', 'on how many machines it can be active', machines)
    .option(
      '--expires <when>',
      'when it expires; a day means its first second, UTC (default: never)',
      moment('--expires'),
    )
    .addOption(choiceOption('--on-expiry <what>', ON_EXPIRY_TEXT, ON_EXPIRY))
    .action(issue);
  listCommand(license);
  addPageOptions(
    license
      .command('show')
      .argument(
        '[id|key|transaction|email]',
        "the license's id, its key, the key it had before an import, the processor's id of its purchase, or the holder's e-mail address; - reads it from standard input; without it, the terminal asks",
      )
      .description('print a license and its machines, or all licenses of a holder'),
  ).action(show);
  license
    .command('set')
    .argument('<id>', "the license's id", rowId)
    .description('change a license')
    .option('--machines <n>', 'on how many machines it can be active; active machines stay active', machines)
    .option('--expires <when>', 'when it expires, or never', expiry)
    .addOption(choiceOption('--on-expiry <what>', ON_EXPIRY_TEXT, ON_EXPIRY))
    .option(
      '--email <address>',
      'the new e-mail address of the holder; both addresses receive a mail',
      emailAddress('--email'),
    )
    .addOption(choiceOption('--status <status>', 'the status that staff give it', STAFF_STATUSES))
    .requiredOption('--reason <text>', 'why, for the audit trail, without names', reason)
    .action(set);
  license
    .command('rekey')
    .argument('<id>', "the license's id", rowId)
    .description('replace a leaked key and mail the new one; active machines stay active')
    .requiredOption('--reason <text>', 'why, for the audit trail, without names', reason)
    .action(rekey);
  license
    .command('send-key')
    .argument('<id>', "the license's id", rowId)
    .description(
      "mail the key to the license's e-mail address again (in --json, mailed means accepted for mailing)",
    )
    .action(sendKey);
  importCommand(license);
}

async function issue(options: IssueOptions, command: Command): Promise<void> {
  const { email, machines, expires, onExpiry } = options;
  const terms = { email, machines_allowed: machines, expires_at: expires, on_expiry: onExpiry };
  const issued = await withLicenses((licenses) => licenses.issue(terms, auditContextOf(command)));
  print(
    command,
    issued,
    `${keyText(issued)}
The key is not mailed yet: \`mooring license send-key ${issued.license_id}\` mails it to the holder.`,
  );
}

async function show(argument: string | undefined, options: PageOptions, command: Command): Promise<void> {
  const typed = await argumentOrInput(argument, 'License id, key, transaction or e-mail address');
  const email = emailField.parse(typed);
  if (!(email instanceof Invalid)) return showOfHolder(email, options, command);
  if (options.limit !== undefined || options.cursor !== undefined)
    throw new UsageError('--limit and --cursor are for the licenses of an e-mail address.');
  const view = await withDatabase((context) => findLicense(context, typed));
  print(command, toValue(view), licenseText(view));
}

/** Prints a page of the licenses of a holder. */
async function showOfHolder(email: string, options: PageOptions, command: Command): Promise<void> {
  const { licenses, next_cursor } = await withDatabase(({ dataSource }) =>
    readLicensePage(dataSource, { email, ...options }),
  );
  if (licenses.length === 0)
    throw new CommandError(
      options.cursor === undefined
        ? 'No license has this e-mail address.'
        : 'The list of this e-mail address has no license after this cursor.',
    );
  const text = licenses.map(licenseText).join('\n\n');
  const next = nextPageText(['license', 'show', email], options, next_cursor);
  print(command, { licenses: licenses.map(toValue), next_cursor }, text + next);
}

/** Returns a license in the form that --json prints. */
function toValue({ activations, ...license }: LicenseView) {
  return {
    ...withIdName('license', license),
    activations: activations.map((each) => withIdName('activation', each)),
  };
}

async function set(id: string, options: SetOptions, command: Command): Promise<void> {
  const change: LicenseChange = definedMembers({
    machines_allowed: options.machines,
    expires_at: options.expires === 'never' ? null : options.expires,
    on_expiry: options.onExpiry,
    staff_status: options.status,
    email: options.email,
  });
  if (Object.keys(change).length === 0) {
    throw new UsageError(
      'Give at least one change: --machines, --expires, --on-expiry, --status or --email.',
    );
  }
  const view = await withLicenses(async (licenses, context) => {
    await explainNotFound(licenses.set(id, change, auditContextOf(command, options.reason)), NOT_FOUND);
    return findLicense(context, id);
  });
  print(command, toValue(view), licenseText(view));
}

async function rekey(id: string, { reason }: { reason: string }, command: Command): Promise<void> {
  const { license_key } = await explainNotFound(
    withLicenses((licenses) => licenses.rekey(id, auditContextOf(command, reason))),
    NOT_FOUND,
  );
  const rekeyed = { license_id: id, license_key };
  print(
    command,
    rekeyed,
    `${keyText(rekeyed)}\nThe old key activates no further machine; active machines stay active. The new key is mailed.`,
  );
}

/** Queues the mail with the key. In --json, `mailed` means accepted for mailing: a running service sends the mail. */
async function sendKey(id: string, _options: unknown, command: Command): Promise<void> {
  await explainNotFound(
    withLicenses((licenses) => licenses.sendKey(id, auditContextOf(command))),
    NOT_FOUND,
  );
  print(command, { license_id: id, mailed: true }, 'The key is sent by mail as soon as the service runs.');
}

/** Finds a license by its id, key, previous key, or the transaction id of its purchase. @throws CommandError if none is found */
async function findLicense(context: CommandContext, text: string): Promise<LicenseView> {
  const { config, dataSource } = context;
  const key = readLicenseKey(text);
  const key_hash = key && licenseKeyHash(withServicePrefix(key, config.licenseKeyPrefix));
  const query = isUuid(text) ? { id: text } : key_hash && { key: [key_hash, null] as const };
  const found = query ? await findLicenses(dataSource, query) : [];
  // A transaction id can have the form of a license id or of a key.
  const [view, ...others] =
    found.length > 0 ? found : await findLicenses(dataSource, { transaction_id: text });
  // An imported transaction may have several licenses.
  if (others.length > 0)
    printMessage(
      `This is the newest of ${others.length + 1} licenses of the transaction: \`mooring license list --transaction ${shellWord(text)}\` lists all.`,
    );
  if (view) return view;
  // The hash of a previous key needs LICENSE_KEY_SECRET, which no other search reads.
  const [imported] = await findByPreviousKey(context, text);
  if (imported) return imported;
  const hasTypo = key !== null && !hasValidCheckSymbol(key);
  throw new CommandError(
    hasTypo
      ? 'No license has this key. One character looks mistyped.'
      : 'No license has this id, key or transaction.',
  );
}

async function findByPreviousKey(context: CommandContext, text: string): Promise<LicenseView[]> {
  const [, previous_key_hash] = (await openLicenseKeys(context)).hashesOfTyped(text);
  return previous_key_hash ? findLicenses(context.dataSource, { key: [null, previous_key_hash] }) : [];
}

function keyText({ license_id, license_key }: { license_id: string; license_key: string }): string {
  return aligned([
    ['License', license_id],
    ['Key', license_key],
  ]);
}

function licenseText(view: LicenseView): string {
  const rows = [
    ['License', view.id],
    ['Status', view.status],
    [
      'E-mail',
      view.email ??
        (view.is_address_lost ? 'unknown since a restore: set it with license set --email' : 'erased'),
    ],
    ['Key', `ends in ${view.key_hint}`],
    ...(view.previous_key_hint === null ? [] : [['Replaces', `the key ending in ${view.previous_key_hint}`]]),
    ['Machines', `${view.machines_in_use} of ${view.machines_allowed} in use`],
    expiryRow(view),
    ['Issued', view.created_at],
  ];
  return [
    aligned(rows),
    ...(view.activations.length > 0 ? ['', activationsText(view.activations)] : []),
  ].join('\n');
}

/** Names the day of the last moment before the expiry, as the pages and the mails do. */
function expiryRow({ expires_at, on_expiry }: LicenseView): [string, string] {
  if (expires_at === null) return ['Expires', 'never'];
  const lastDay = utcDay(new Date(Date.parse(expires_at) - 1));
  return [on_expiry === 'keep' ? 'Updates' : 'Runs', `through ${lastDay} (UTC)`];
}

/** Renders activations as a table. */
export function activationsText(activations: readonly Activation[]): string {
  const head = ['Activation', 'Label', 'Version', 'Activated', 'State'];
  const lines = activations.map(({ id, hostname_hint, app_version, activated_at, state, ended_at }) => [
    id,
    hostname_hint ?? '–',
    app_version,
    activated_at,
    ended_at ? `${state} ${ended_at}` : state,
  ]);
  return aligned([head, ...lines]);
}
