import { describe, expect, test } from '@jest/globals';
import { Terminal } from '../support/processes/cli-harness.js';
import { createDatabase } from '../support/harness.js';

const UNKNOWN_ID = '01980000-0000-7000-8000-000000000001';
const REASON = ['--reason', 'asked by phone'];

// The first three say how the right argument is found.
const NO_LICENSE =
  /^No license has this id: `mooring license show` finds it by the key, the transaction or the e-mail address\.$/;
const NO_ACTIVATION = /^No activation has this id: `mooring license show` prints the ids\.$/;
const NO_TOKEN = /^No token has this id: `mooring staff tokens` lists the ids\.$/;
const NOT_ADDED = /^No staff member has this e-mail address: add the person with `mooring staff add`\.$/;
const NOT_STAFF = /^No staff member has this e-mail address: nothing was changed\.$/;

const database = await createDatabase();
const terminal = new Terminal({ DATABASE_URL: database.url });

describe('a mistake is reported in one sentence, with nothing on standard output', () => {
  const cases: [code: 1 | 2, sentence: RegExp, ...args: string[]][] = [
    [1, /^No license has this id, key or transaction\.$/, 'license', 'show', UNKNOWN_ID],
    [1, /^No license has this id, key or transaction\.$/, 'license', 'show', 'nonsense'],
    [
      1,
      /^No license has this key\. One character looks mistyped\.$/,
      'license',
      'show',
      'MOOR_E6S7-Z8KJ-TB3R-QKX5',
    ],
    [1, NO_LICENSE, 'license', 'set', UNKNOWN_ID, '--machines', '2', ...REASON],
    [1, NO_LICENSE, 'license', 'set', 'nonsense', '--machines', '2', ...REASON],
    [1, NO_LICENSE, 'license', 'rekey', UNKNOWN_ID, ...REASON],
    [1, NO_ACTIVATION, 'activation', 'release', UNKNOWN_ID, ...REASON],
    [1, NO_ACTIVATION, 'activation', 'release', 'nonsense', ...REASON],
    [1, NOT_ADDED, 'staff', 'token', 'unknown@example.com'],
    [1, NOT_ADDED, 'staff', 'link', 'unknown@example.com'],
    [1, NOT_STAFF, 'staff', 'remove', 'unknown@example.com'],
    [1, NO_TOKEN, 'staff', 'revoke-token', 'nonsense'],
    [1, /^No manifest is live\.$/, 'manifest', 'show'],
    [2, /^Unknown command 'nonsense'\.$/, 'nonsense'],
    [2, /^Unknown option '--bogus'\.$/, '--bogus', '--version'],
    [2, /^Unknown option '--jsn' \(Did you mean --json\?\)$/, 'status', '--jsn'],
    [2, /^Required option '--email <address>' not specified\.$/, 'license', 'issue'],
    [
      2,
      /^License id, key, transaction or e-mail address: give it as an argument, or - to read it/,
      'license',
      'show',
    ],
    [2, /^--email must be an e-mail address/, 'license', 'issue', '--email', 'nonsense'],
    [
      2,
      /^--machines must be a whole number from 1/,
      'license',
      'issue',
      '--email',
      'a@b.c',
      '--machines',
      '0',
    ],
    [
      2,
      /^--expires must be a day such as/,
      'license',
      'issue',
      '--email',
      'a@b.c',
      '--expires',
      '2027-02-30',
    ],
    [
      2,
      /^--on-expiry must be one of keep, stop\.$/,
      'license',
      'issue',
      '--email',
      'a@b.c',
      '--on-expiry',
      'x',
    ],
    [2, /^Give at least one change: /, 'license', 'set', UNKNOWN_ID, ...REASON],
    [2, /^Required option '--reason <text>'/, 'license', 'set', UNKNOWN_ID, '--machines', '2'],
    [
      2,
      /^--status must be one of active, suspended, revoked/,
      'license',
      'set',
      UNKNOWN_ID,
      '--status',
      'x',
      ...REASON,
    ],
    [2, /^--reason must say why/, 'license', 'rekey', UNKNOWN_ID, '--reason', ' '],
    [2, /^--reason must not hold an e-mail/, 'activation', 'release', UNKNOWN_ID, '--reason', 'for a@b.c'],
    [2, /^--reason must have at most 500/, 'license', 'rekey', UNKNOWN_ID, '--reason', 'x'.repeat(501)],
    [2, /^--role must be one of support, admin\.$/, 'staff', 'add', 'a@b.c', '--role', 'x'],
    [2, /^<email> must be an e-mail address/, 'staff', 'add', 'x', '--role', 'admin'],
    [2, /^--as must be a name of 1 to 254/, 'status', '--as', ' '],
  ];

  test.each(cases)('with exit code %d: %s', async (code, sentence, ...args) => {
    const run = await terminal.run([...args, '--json']);
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
    expect(run.stderr).toMatch(/^[^\n]+\n$/);
    expect(run.stderr.trim()).toMatch(sentence);
  });

  test('with exit code 2 if a setting cannot be used', async () => {
    const run = await terminal.run(['status'], { env: { PORT: 'x' } });
    expect(run).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'PORT must be a whole number from 0 to 65535.\n',
    });
  });
});

test('a command group without a command ends with exit code 2, with nothing on standard output', async () => {
  expect(await terminal.run(['license'])).toMatchObject({ code: 2, stdout: '' });
});
