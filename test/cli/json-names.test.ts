import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createProgram } from '../../src/cli/program.js';
import { inDays, Publisher, PUBLISH, signArgs, type Run } from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';

const EMAIL = 'ada@example.com';
const STAFF = 'grace@example.com';
const REASON = ['--reason', 'asked by phone'];

const service = await Service.start();
const publisher = await Publisher.at(service.databaseUrl);
Object.assign(publisher.env, {
  DATA_DIR: service.dataDir,
  TOKEN_KEYS_DIR: join(service.dataDir, 'keys/tokens'),
});

/** Runs each command with --json, some more than once. @returns the value that each printed last, by the name of the command */
async function runEach(): Promise<Record<string, unknown>> {
  const printed: Record<string, unknown> = {};
  // `publish` ends with 1, because nothing listens at PUBLIC_URL in the tests, but it prints its value.
  const run = async (...args: string[]): Promise<Run['json']> => {
    const { json, stderr } = await publisher.run([...args, '--json']);
    if (json === undefined) throw new Error(`mooring ${args.join(' ')}: ${stderr}`);
    const name = args.slice(0, isGroup(args[0]!) ? 2 : 1).join(' ');
    printed[name] = json;
    return json;
  };
  await run('init', 'secrets');
  await run('migrate');
  const { license_id } = await run('license', 'issue', '--email', EMAIL, '--machines', '2');
  const { license_key } = await run('license', 'rekey', license_id, ...REASON);
  const { json } = await service.activate({ license_key, email: EMAIL });
  await run('activation', 'release', json.activation.id, ...REASON);
  await run('license', 'set', license_id, '--machines', '3', ...REASON);
  await run('license', 'send-key', license_id);
  await run('license', 'list', '--email', EMAIL);
  await run('license', 'show', EMAIL);
  expect(await publisher.json(['license', 'show', license_id])).toMatchObject({ license_id });
  writeFileSync(publisher.file('old.csv'), 'license_key,email\nSHOP_2345-6789-ABCD-EFGH,bob@example.com\n');
  await run('license', 'import', 'old.csv');
  await run('purchase', 'record', '--transaction', 'pi_42', '--status', 'paid', '--email', EMAIL);
  await run('staff', 'add', STAFF, '--role', 'admin');
  await run('staff', 'list');
  await run('staff', 'link', STAFF);
  const { token_id } = await run('staff', 'token', STAFF);
  await run('staff', 'tokens');
  await run('staff', 'revoke-token', token_id);
  await run('staff', 'add', 'root@example.com', '--role', 'admin');
  await run('staff', 'remove', STAFF);
  await run('retention', 'run', '--dry-run');
  await run('erasure', 'request', EMAIL, ...REASON);
  await run('erasure', 'list');
  await run('erasure', 'run');
  await run('keys', 'list');
  const [{ key_id }] = await run('keys', 'rotate');
  await run('keys', 'revoke', key_id, '--dry-run');
  await run('manifest', 'keygen', '--no-passphrase', '--out', 'three.pem');
  publisher.writeDocument('1.json', await run(...signArgs('1.0.0', '--first')));
  await run(...PUBLISH, '1.json', '--dry-run');
  await run(...PUBLISH, '1.json');
  await run('manifest', 'verify', '1.json');
  await run('manifest', 'show');
  publisher.writeDocument('2.json', await run(...signArgs('1.1.0')));
  await publisher.publish('2.json');
  await run('manifest', 'refresh', '--key', 'two.pem', '--expires', inDays(200));
  await run('manifest', 'withdraw', '--key', 'two.pem');
  await run('status');
  await run('doctor');
  await run('keys', 'accept-secret', ...REASON);
  // The service of this test sends no events, so none is recorded.
  await service.sql("select record_event('license.issued', $1, '{}', now())", [license_id]);
  await run('events', 'list');
  await run('events', 'resend', '--since', '2020-01-01');
  await run('events', 'stop');
  await run('completion', 'bash');
  return printed;
}

const program = await createProgram(['help']);
const isGroup = (name: string) =>
  program.commands.some((each) => each.name() === name && each.commands.length > 0);

/** The names of all members of a value, also of nested ones. */
const memberNames = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, member]) => [
        ...(Array.isArray(value) ? [] : [name]),
        ...memberNames(member),
      ]);

test('in the JSON of every command, each kind of id has one name, which says what it identifies', async () => {
  const printed = await runEach();
  const names = program.commands.flatMap((child) =>
    child.commands.length > 0
      ? child.commands.map((leaf) => `${child.name()} ${leaf.name()}`)
      : [child.name()],
  );
  expect(Object.keys(printed).toSorted()).toEqual(names.filter((name) => name !== 'help').toSorted());
  for (const [command, value] of Object.entries(printed)) {
    const wrong = memberNames(value).filter((name) => ['id', 'kid', 'uuid'].includes(name));
    expect({ command, wrong }).toEqual({ command, wrong: [] });
  }
  const ids = new Set(
    Object.values(printed)
      .flatMap(memberNames)
      .filter((name) => name.endsWith('_id')),
  );
  expect([...ids].toSorted()).toEqual([
    'activation_id',
    'erasure_id',
    'event_id',
    'key_id',
    'license_id',
    'staff_id',
    'token_id',
    'transaction_id',
  ]);
});
