import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Terminal } from '../support/processes/cli-harness.js';
import { createDatabase, Service, connect } from '../support/harness.js';
import { buyerOf, end, mails, sendReport, readPurchase, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { comparableRows, everyRow } from '../support/tables.js';
import { temporaryFolder } from '../support/folders.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const dataDir = temporaryFolder();
/** No service runs on this database at first. The command records purchases, and their mails wait for the service. */
const created = await createDatabase();
const database = await connect(created.url);
const terminal = new Terminal({ DATABASE_URL: created.url, DATA_DIR: dataDir });

const RECORD = ['purchase', 'record'];
const record = (transaction: string, status: string, ...more: string[]) =>
  RECORD.concat('--transaction', transaction, '--status', status, more);
const withEmail = (transaction: string, status: string, ...more: string[]) =>
  record(transaction, status, '--email', buyerOf(transaction), ...more);

const jobsAbout = async (license_id: string) =>
  (
    await database.query<{ key: string; payload: Record<string, string> }>(
      `select j.key, p.payload from graphile_worker.jobs j
       join graphile_worker._private_jobs p on p.id = j.id where p.payload->>'about' = $1 order by j.id`,
      [license_id],
    )
  ).rows;

describe('purchase record', () => {
  test('creates a license for a paid purchase, and its mail waits as a job without personal data', async () => {
    const recorded = await terminal.json(withEmail('cli-paid', 'paid'));
    const license_id = expect.stringMatching(UUID_V7);
    expect(recorded).toEqual({
      transaction_id: 'cli-paid',
      state: 'paid',
      license_id,
      license_ids: [recorded.license_id],
    });
    expect(await jobsAbout(recorded.license_id)).toEqual([
      {
        key: `license_key ${recorded.license_id}`,
        payload: { about: recorded.license_id, mail_id: expect.any(String) },
      },
    ]);
  });

  test('repeated, prints the same and creates no second license or mail', async () => {
    const first = await terminal.json(withEmail('cli-again', 'paid'));
    const licenses = async () => (await database.query('select id, email from license order by id')).rows;
    const before = await licenses();
    expect(before).toContainEqual({ id: first.license_id, email: buyerOf('cli-again') });
    expect(await terminal.json(record('cli-again', 'paid', '--email', 'eve@example.com'))).toEqual(first);
    expect(await licenses()).toEqual(before);
    expect(await jobsAbout(first.license_id)).toHaveLength(1);
  });

  test('needs no address for other statuses, and prints the license, or none if the purchase was never paid', async () => {
    const { license_id } = await terminal.json(withEmail('cli-refund', 'paid'));
    expect(await terminal.json(record('cli-refund', 'refunded'))).toEqual({
      transaction_id: 'cli-refund',
      state: 'refunded',
      license_id,
      license_ids: [license_id],
    });
    expect(await terminal.json(record('cli-early', 'disputed'))).toEqual({
      transaction_id: 'cli-early',
      state: 'disputed',
      license_id: null,
      license_ids: [],
    });
    expect((await terminal.run(record('cli-early', 'refunded'))).stdout).toBe(
      'Transaction  cli-early\nState        refunded\nLicense      none\n',
    );
  });

  test.each([
    ['paid without an address', record('a', 'paid'), /^--email is required with --status paid\.\n$/],
    [
      'an invalid address',
      record('a', 'paid', '--email', 'ada'),
      /^--email must be an e-mail address\b.*\.\n$/,
    ],
    ['an unknown status', record('a', 'lost'), /^--status must be one of paid, disputed, .*\.\n$/],
    ['an id with a space', record('a b', 'refunded'), /^--transaction must be a string .*\.\n$/],
    ['no id', [...RECORD, '--status', 'paid'], /^[^\n]*--transaction[^\n]*\.\n$/],
  ])('with %s prints one sentence, exits with 2 and records nothing', async (_, args, sentence) => {
    const before = await comparableRows(database);
    const { code, stdout, stderr } = await terminal.run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(sentence);
    expect(await comparableRows(database)).toEqual(before);
  });

  test('is recorded in the audit trail with its actor and status, and without an address', async () => {
    const { license_id } = await terminal.json(withEmail('cli-audit', 'paid', '--as', 'grace'));
    await terminal.json(withEmail('cli-audit', 'refunded'));
    await terminal.json(withEmail('cli-audit-early', 'refunded'));
    const { rows } = await database.query(
      `select e.actor, e.action, e.license_id, e.reason, e.change - 'purchase_id' as change
       from audit_event e join purchase p on e.change->>'purchase_id' = p.id::text
       where p.transaction_id like 'cli-audit%' order by e.at, e.id`,
    );
    const entry = { action: 'purchase.record', license_id, reason: null };
    expect(rows).toEqual([
      { ...entry, actor: 'grace', change: { status: 'paid' } },
      { ...entry, actor: 'cli', change: { status: 'refunded', before: { status: 'paid' } } },
      { ...entry, actor: 'cli', license_id: null, change: { status: 'refunded' } },
    ]);
    const trail = (await everyRow(database)).filter((row) => row.startsWith('public.audit_event:'));
    expect(trail.filter((row) => /@|buyer/.test(row))).toEqual([]);
  });
});

describe('while a service is running', () => {
  let service: Service;
  beforeAll(async () => {
    await terminal.json(withEmail('cli-waits', 'paid'));
    await terminal.json(withEmail('cli-waits-refunded', 'paid'));
    await terminal.json(record('cli-waits-refunded', 'refunded'));
    service = await Service.start({ databaseUrl: created.url, dataDir, environment: PURCHASE_SETTINGS });
  });
  afterAll(() => end(service));

  test('the waiting mails are sent, except the mails of refunded purchases', async () => {
    const buyers = [buyerOf('cli-waits'), buyerOf('cli-waits-refunded')];
    const sent = (await mails(service)).filter(({ to }) => buyers.includes(to));
    expect(sent.map(({ to }) => to)).toEqual([buyerOf('cli-waits')]);
    const bought = (await readPurchase(service, 'cli-waits'))!;
    expect(sent[0]!.license_key).toBe(bought.license_key);
    expect((await service.activate(bought)).status).toBe(201);
  });

  test('a mail is sent at once, and a refund applies to the next heartbeat', async () => {
    await terminal.json(withEmail('cli-served', 'paid'));
    const mail = (await mails(service)).find(({ to }) => to === buyerOf('cli-served'))!;
    const license = { license_key: mail.license_key!, email: mail.to };
    const { token } = (await service.activate(license)).json;
    await terminal.json(record('cli-served', 'refunded'));
    expect((await service.heartbeat(token)).json.code).toBe('license_refunded');
  });

  test('the command and the webhook change the same purchase', async () => {
    await sendReport(service, 'cli-same', 'paid');
    const { license_id } = (await readPurchase(service, 'cli-same'))!;
    expect(await terminal.json(withEmail('cli-same', 'disputed'))).toEqual({
      transaction_id: 'cli-same',
      state: 'disputed',
      license_id,
      license_ids: [license_id],
    });
    await sendReport(service, 'cli-same', 'dispute_won');
    expect((await terminal.json(withEmail('cli-same', 'paid'))).state).toBe('dispute_won');
    expect((await mails(service)).filter(({ to }) => to === buyerOf('cli-same'))).toHaveLength(1);
  });

  test('webhook reports are not recorded in the audit trail', async () => {
    const entries = async () => (await service.sql('select id from audit_event')).length;
    const before = await entries();
    for (const status of ['paid', 'disputed', 'dispute_won', 'refunded'] as const)
      expect((await sendReport(service, 'cli-silent', status)).status).toBe(204);
    expect(await entries()).toBe(before);
    await terminal.json(record('cli-silent', 'refunded'));
    expect(await entries()).toBe(before + 1);
  });
});
