import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { SignInCodes } from '../../src/license-portal/sign-in-codes.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { enqueueMail } from '../../src/mail/mail.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import type { Erasure } from '../../src/http/responses/api-types.js';
import { erase, formsOfMachine, makeDue, mailsTo, waitForJobs, waitForSentMails, sell } from './harness.js';
import { until } from '../support/until.js';
import { AUDIT_CONTEXT, machineId, Service } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { everyRow } from '../support/tables.js';

const ADA = 'ada.kanari@leak.example';
/** The earlier address of Ada, which her purchases have. */
const EARLIER = 'ada.before@leak.example';
const LABELS = ['Studio Kanari', 'Kanari Laptop', 'Kanaris alter Mac', 'Küche von Kanari'];
const RELEASE_REQUEST_REASON = 'Sold it to my sister Kanarina';
const MACHINES = LABELS.map((label) => machineId(label));

/** Finds the personal data of Ada. Her transaction ids are not searched, because they are kept. */
const search = new LeakSearch([
  ...[ADA, EARLIER, RELEASE_REQUEST_REASON, ...LABELS].flatMap(formsOfText),
  ...MACHINES.flatMap(formsOfMachine),
]);

/** The ids by which a holder's rows are found, and the license keys and tokens of the holder. */
interface HolderData {
  readonly ids: string[];
  readonly keys: string[];
  /** One license token for each machine. */
  readonly tokens: string[];
}

let service: Service;
let ada: HolderData;
/** All rows before the erasure. */
let before: string[];
/** The rows of another holder before the erasure. */
let others: string[];
let erased: Erasure;

beforeAll(async () => {
  service = await Service.start({ environment: { LOG_LEVEL: 'trace', DEFAULT_MACHINES_PER_LICENSE: '3' } });
  const bob = await createHolder('bob@other.example', 'bob-1', ['Bob at home', 'Bob at work'], 'Sold it');
  ada = await createHolder(EARLIER, 'kanari-1', LABELS, RELEASE_REQUEST_REASON, changeAddress);
  await enqueueUnsendableMails();
  before = await everyRow(service.database);
  others = rowsOf(bob.ids, before);
  erased = await erase(service, ADA);
});

/**
 * Creates a holder of two licenses, one bought and one issued. The machines alternate between the licenses, and the last
 * machine is released. The holder requests the release of the first machine, and a sign-in code.
 * @param beforeReleaseRequest runs after the activations and before the release request
 */
async function createHolder(
  email: string,
  transaction: string,
  labels: string[],
  requestReason: string,
  beforeReleaseRequest: () => Promise<void> = async () => undefined,
): Promise<HolderData> {
  const bought = await sell(service, email, transaction);
  const issued = await service.issue({ email });
  const license_key = (await service.app.get(LicensesService).currentKey(bought))!;
  const data = {
    ids: [bought, issued.license_id, email, transaction],
    keys: [license_key, issued.license_key],
  };
  const activations: { id: string; token: string }[] = [];
  for (const [i, hostname_hint] of labels.entries()) {
    const license = { license_key: data.keys[i % 2]!, email };
    // An id in upper case is the same machine, and is stored as the same bytes.
    const id = machineId(hostname_hint);
    const machine_id = i % 3 ? id.toUpperCase() : id;
    const { json } = await service.activate(license, hostname_hint, { hostname_hint, machine_id });
    activations.push({ id: json.activation.id, token: json.token });
  }
  await service.app.get(SignInCodes).send(email);
  await beforeReleaseRequest();
  await service.app.get(ReleaseRequests).create(activations[0]!.id, requestReason);
  await service.app.get(ReleaseService).release(activations.at(-1)!.id, AUDIT_CONTEXT);
  data.ids.push(...activations.map(({ id }) => id));
  return { ...data, tokens: activations.map(({ token }) => token) };
}

/** Records a disputed and a refunded purchase of Ada, and then changes the address of her licenses, which sends mails. */
async function changeAddress(): Promise<void> {
  const purchases = service.app.get(PurchasesService);
  for (const status of ['disputed', 'refunded'] as const) {
    await sell(service, EARLIER, `kanari-${status}`);
    await purchases.record({ transaction_id: `kanari-${status}`, status });
  }
  const licenses = await service.sql<{ id: string }>('select id from license where email = $1', [EARLIER]);
  for (const { id } of licenses) await service.setLicense(id, { email: ADA });
}

/**
 * Enqueues three mails that cannot be sent: one with a key, one whose recipient is only in mail_recipient, one with a sign-in code.
 */
async function enqueueUnsendableMails(): Promise<void> {
  await waitForJobs(service);
  const outboxPath = join(service.dataDir, 'outbox');
  await rm(outboxPath, { recursive: true });
  // No mail can be written, because the outbox is a file.
  await writeFile(outboxPath, 'no folder');
  const [{ id }] = (await service.sql<{ id: string }>('select id from license where email = $1 limit 1', [
    ADA,
  ])) as [{ id: string }];
  const licenses = service.app.get(LicensesService);
  await licenses.sendKey(id, AUDIT_CONTEXT);
  await service.app
    .get(DataSource)
    .transaction((manager) => enqueueMail(manager, 'email_changed', id, service.clock.now(), { to: ADA }));
  await service.app.get(SignInCodes).send(ADA);
  const failed = 'select 1 from graphile_worker.jobs where last_error is not null and locked_by is null';
  await until(async () => (await service.sql(failed)).length === 3);
  await rm(outboxPath);
}

/** The rows with one of these ids. The rows of the job queue are left out, because they change all the time. */
const rowsOf = (ids: readonly string[], rows: readonly string[]) =>
  rows.filter((row) => row.startsWith('public.') && ids.some((id) => row.includes(id)));

test('before the erasure, the search finds both addresses, each label, each machine and the reason of the release request', () => {
  const forms = search.in(before.join('\n'));
  expect([...forms]).toEqual(
    expect.arrayContaining([ADA, EARLIER, RELEASE_REQUEST_REASON, ...LABELS, ...MACHINES]),
  );
});

test('after the erasure no table has personal data of the holder, in any form', async () => {
  // The address is stored for the receipt until the receipt is sent.
  await waitForSentMails(service);
  const after = await everyRow(service.database);
  expect([...search.in(after.join('\n'))]).toEqual([]);
  // The audit trail is kept, so the search has covered its events.
  expect(after.filter((row) => row.startsWith('public.audit_event')).length).toBeGreaterThan(5);
});

test('no log line has personal data of the holder, before or after the erasure', () => {
  const logged = service.logged.join('');
  expect(logged).toContain('"task":"mail_license_key_again"');
  expect([...search.in(logged)]).toEqual([]);
});

test('the purchases keep their transaction ids, states and days, and no address', async () => {
  const rows = await service.sql(
    `select transaction_id, state, paid, recorded_on::text, email from purchase
     where transaction_id like 'kanari%' order by 1`,
  );
  const row = { paid: true, recorded_on: '2026-11-20', email: null };
  expect(rows).toEqual([
    { transaction_id: 'kanari-1', state: 'paid', ...row },
    { transaction_id: 'kanari-disputed', state: 'disputed', ...row },
    { transaction_id: 'kanari-refunded', state: 'refunded', ...row },
  ]);
});

test('the request shows how much was erased, and no longer the address', () => {
  expect(erased).toMatchObject({
    email: null,
    state: 'honoured',
    days_left: null,
    asked_by: 'staff',
    honoured_at: '2026-11-20T13:00:00Z',
    erased: { licenses: 4, activations: 4, purchases: 3, purchases_kept_until: '2036-12-31' },
  });
});

test('one receipt is sent to the address, and says what was deleted, what is kept, why and until when', async () => {
  const [receipt, ...more] = await mailsTo(service, ADA, /was deleted/);
  expect(more).toEqual([]);
  expect(receipt!.text).toContain('Licenses: 4\nActivations: 4\nPurchases: 3\n');
  expect(receipt!.text).toMatch(
    /For tax and refunds, .* transaction id, its status and its day, until 31 December 2036/,
  );
  expect(receipt!.text).toMatch(/ids, states and dates\) is kept for 12 months/);
  expect(receipt!.text).toMatch(/Telemetry.* holds no link to you.* cannot be found for one person/);
  expect(receipt!.text).not.toMatch(/kanari/i);
});

test('no other mail is sent to an erased holder, not even a mail that was waiting', async () => {
  await makeDue(service);
  await waitForJobs(service);
  expect((await mailsTo(service, ADA, /./)).map(({ subject }) => subject)).toEqual([
    'Your data with com.example.app was deleted',
  ]);
});

test('the heartbeat of each machine is answered with binding_released', async () => {
  expect(ada.tokens).toHaveLength(4);
  for (const token of ada.tokens) {
    const { status, json } = await service.heartbeat(token);
    expect([status, json.code, json.client_action]).toEqual([403, 'binding_released', 'stop']);
  }
});

test('an activation with the key of an erased license gets the response for an unknown key, with either address', async () => {
  for (const license_key of ada.keys) {
    for (const email of [ADA, EARLIER]) {
      const { status, json } = await service.activate({ license_key, email }, LABELS[0]);
      expect([status, json.code]).toEqual([404, 'license_not_found']);
    }
  }
});

test('the rows of another holder are unchanged', async () => {
  // Licenses, purchase, activations, release request, code and audit.
  expect(others.length).toBeGreaterThanOrEqual(8);
  const after = new Set(await everyRow(service.database));
  expect(others.filter((row) => !after.has(row))).toEqual([]);
});

test('a second request finds no data, and is carried out as well', async () => {
  const again = await erase(service, ADA);
  expect(again).toMatchObject({
    state: 'honoured',
    erased: { licenses: 0, activations: 0, purchases: 0, purchases_kept_until: null },
  });
  const receipts = await mailsTo(service, ADA, /was deleted/);
  expect(receipts.filter(({ text }) => !/tax and refunds/.test(text))).toHaveLength(1);
});
