import { expect, test } from '@jest/globals';
import { Terminal } from '../support/processes/cli-harness.js';
import { testWith } from '../support/processes/test-with.js';
import { createDatabase } from '../support/harness.js';

const database = await createDatabase();
const terminal = new Terminal({ DATABASE_URL: database.url });
const license: { license_id: string; license_key: string } = await terminal.json([
  'license',
  'issue',
  '--email',
  'ada@example.com',
]);

const show = (stdin: string, ...args: string[]) =>
  terminal.run(['license', 'show', ...args, '--json'], { stdin });

test('`license show -` reads the key, as people type and paste it, or the id from standard input', async () => {
  const key = license.license_key;
  for (const stdin of [
    `${key}\n`,
    key.toLowerCase(),
    `“${key}”.`,
    `> ${key.replaceAll('-', '–')}`,
    key.replace(/^.*_/, '').replaceAll('-', ' '),
    key.replaceAll(/[-_]/g, ''),
    `${license.license_id}\r\n`,
  ]) {
    const { code, stderr, json } = await show(stdin, '-');
    expect([code, stderr, json.license_id]).toEqual([0, '', license.license_id]);
  }
  expect((await show('', license.license_id)).json.license_id).toBe(license.license_id);
});

test.each([
  [1, 'No license has this id, key or transaction.', 'MOOR_E6S7-Z8KJ-TB3R-QKX6', ['-']],
  [2, 'License id, key, transaction or e-mail address: no value was given.', ' \n', ['-']],
  [
    2,
    'License id, key, transaction or e-mail address: standard input has more than one line.',
    'one\ntwo\n',
    ['-'],
  ],
  [
    2,
    'License id, key, transaction or e-mail address: standard input is not text in UTF-8.',
    'M\0O\0O\0R\0\r\0\n\0',
    ['-'],
  ],
  [
    2,
    'License id, key, transaction or e-mail address: give it as an argument, or - to read it from standard input.',
    'x',
    [],
  ],
])('`license show` refuses its input with exit code %d: %s', async (code, sentence, stdin, args) => {
  expect(await show(stdin, ...args)).toMatchObject({ code, stdout: '', stderr: `${sentence}\n` });
});

testWith('script').each([[[]], [['-']]])(
  'at a terminal `license show` asks for the key without echo, with the arguments %j',
  (args) => {
    const { code, shown } = terminal.runInTerminal(['license', 'show', ...args], {
      question: 'License id',
      typed: `${license.license_key}\r`,
    });
    expect([code, shown]).toEqual([
      0,
      expect.stringMatching(/^License id, key, transaction or e-mail address: \r?\nLicense +/),
    ]);
    expect(shown).toContain(license.license_id);
    expect(shown).not.toContain(license.license_key);
  },
);
