import { describe, expect, test } from '@jest/globals';
import { Terminal } from '../support/processes/cli-harness.js';
import { createDatabase, connect } from '../support/harness.js';
import { comparableRows } from '../support/tables.js';

/** A database without a service, so that enqueued mails remain in the queue. */
const created = await createDatabase();
const database = await connect(created.url);
const terminal = new Terminal({ DATABASE_URL: created.url });

const record = (transaction: string, ...statusAndOptions: string[]) =>
  terminal.json(['purchase', 'record', '--transaction', transaction, '--status', ...statusAndOptions]);
/** Records a purchase. @returns the id of its license */
const sell = async (transaction: string): Promise<string> =>
  (await record(transaction, 'paid', '--email', 'ada@example.com')).license_id;

describe('license rekey is refused in one sentence', () => {
  const refund = (_id: string, transaction: string) => record(transaction, 'refunded');
  const erase = (id: string) => database.query('update license set email = null where id = $1', [id]);

  test.each([
    ['refunded', refund, 'The purchase of this license was refunded, so it gets no key by mail any more.'],
    ['erased', erase, 'This license has no e-mail address any more.'],
  ])('if the license was %s: the key is unchanged and no mail is enqueued', async (what, end, sentence) => {
    const id = await sell(`tx-${what}`);
    await end(id, `tx-${what}`);
    const before = await comparableRows(database);
    const { code, stdout, stderr } = await terminal.run(['license', 'rekey', id, '--reason', 'leaked']);
    expect([code, stdout, stderr]).toEqual([1, '', `${sentence}\n`]);
    expect(await comparableRows(database)).toEqual(before);
    expect(before.filter((row) => row.includes('license_key_replaced'))).toEqual([]);
  });
});

test('license issue says that the key is not mailed yet, and how it is mailed', async () => {
  const { code, stdout } = await terminal.run(['license', 'issue', '--email', 'ada@example.com']);
  const [, id] = /^License  (\S+)\nKey {6}MOOR_\S+\n/.exec(stdout)!;
  expect([code, stdout.split('\n').at(-2)]).toEqual([
    0,
    `The key is not mailed yet: \`mooring license send-key ${id}\` mails it to the holder.`,
  ]);
});

describe('license show takes a transaction id', () => {
  test.each([
    ['like an id of Stripe', 'pi_3QWErTyUiOp'],
    ['like the id of a license', '01980000-0000-7000-8000-000000000001'],
    ['like a random UUID in capitals', '6F9619FF-8B86-4D11-B42D-00CF4FC964FF'],
    ['like a license key', 'ACME_E6S7-Z8KJ-TB3R-QKX6'],
    ['like a license key with a mistyped character', 'ACME_E6S7-Z8KJ-TB3R-QKX7'],
  ])('that looks %s', async (_what, transaction) => {
    const id = await sell(transaction);
    expect(await terminal.json(['license', 'show', transaction])).toMatchObject({ license_id: id });
  });

  test('of several licenses, as after an import, and says that it prints only the newest', async () => {
    const [older, newest] = [await sell('tx-several'), await sell('tx-other')];
    await database.query(
      'update license set purchase_id = (select purchase_id from license where id = $1) where id = $2',
      [older, newest],
    );
    const { code, stdout, stderr } = await terminal.run(['license', 'show', 'tx-several', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ license_id: newest })]);
    expect(stderr).toBe(
      'This is the newest of 2 licenses of the transaction: `mooring license list --transaction tx-several` lists all.\n',
    );
  });
});
