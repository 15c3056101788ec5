import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { SignInCodes } from '../../src/license-portal/sign-in-codes.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { enqueueMail } from '../../src/mail/mail.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import type { ErasureView } from '../../src/erasure/erasure.view.js';
import {
  ACT,
  erase,
  everyRow,
  formsOfMachine,
  makeDue,
  mailsTo,
  waitForJobs,
  sell,
  until,
} from './harness.js';
import { machineId, Service } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';

const ADA = 'ada.kanari@leak.example';
/** Her address before: the purchases know her by it. */
const EARLIER = 'ada.before@leak.example';
const LABELS = ['Studio Kanari', 'Kanari Laptop', 'Kanaris alter Mac', 'Küche von Kanari'];
const WORDS = 'Sold it to my sister Kanarina';
const MACHINES = LABELS.map((label) => machineId(label));

const search = new LeakSearch([
  ...[ADA, EARLIER, WORDS, ...LABELS].flatMap(formsOfText),
  ...MACHINES.flatMap(formsOfMachine),
]);

/** The ids by which a holder's rows are found, and the license keys and tokens of the holder. */
interface HolderData {
  readonly ids: string[];
  readonly keys: string[];
  /** Of a machine each, as the application on it keeps it. */
  readonly tokens: string[];
}

let service: Service;
let ada: HolderData;
let before: string[];
let others: string[];
let erased: ErasureView;

beforeAll(async () => {
  service = await Service.start({ environment: { LOG_LEVEL: 'trace', DEFAULT_MACHINES_PER_LICENSE: '3' } });
  const bob = await createHolder('bob@other.example', 'bob-1', ['Bob at home', 'Bob at work'], 'Sold it');
  ada = await createHolder(EARLIER, 'kanari-1', LABELS, WORDS, changeAddress);
  await waitingMails();
  before = await everyRow(service);
  others = rowsOf(bob.ids, before);
  erased = await erase(service, ADA);
});
afterAll(() => service.close());

/**
 * A holder of two licenses, one bought and one issued, on machines in turn; the last one is released.
 * @param meanwhile what happens before support is asked for anything
 */
async function createHolder(
  email: string,
  transaction: string,
  labels: string[],
  words: string,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<HolderData> {
  const bought = await sell(service, email, transaction);
  const issued = await service.issue({ email });
  const license_key = (await service.app.get(LicensesService).currentKey(bought))!;
  const held = {
    ids: [bought, issued.license_id, email, transaction],
    keys: [license_key, issued.license_key],
  };
  const bindings: { id: string; token: string }[] = [];
  for (const [i, hostname_hint] of labels.entries()) {
    const license = { license_key: held.keys[i % 2]!, email };
    // In either case it is the same machine, and the same bytes.
    const id = machineId(hostname_hint);
    const machine_id = i % 3 ? id.toUpperCase() : id;
    const { json } = await service.activate(license, hostname_hint, { hostname_hint, machine_id });
    bindings.push({ id: json.activation.id, token: json.token });
  }
  await service.app.get(SignInCodes).send(email);
  await meanwhile();
  await service.app.get(ReleaseRequests).create(bindings[0]!.id, words);
  await service.app.get(ReleaseService).release(bindings.at(-1)!.id, ACT);
  held.ids.push(...bindings.map(({ id }) => id));
  return { ...held, tokens: bindings.map(({ token }) => token) };
}

/** Two more purchases, one disputed and one refunded; then her address changes, and mails announce it. */
async function changeAddress(): Promise<void> {
  const purchases = service.app.get(PurchasesService);
  for (const status of ['disputed', 'refunded'] as const) {
    await sell(service, EARLIER, `kanari-${status}`);
    await purchases.record({ transaction_id: `kanari-${status}`, status });
  }
  await service.sql('delete from one_time_code where email = $1', [EARLIER]);
  const licenses = await service.sql<{ id: string }>('select id from license where email = $1', [EARLIER]);
  for (const { id } of licenses) await service.setLicense(id, { email: ADA });
}

/** Mails that cannot be sent: one of a key, one whose recipient nothing else names, one with a code. */
async function waitingMails(): Promise<void> {
  await waitForJobs(service);
  const box = join(service.dataDir, 'outbox');
  await rm(box, { recursive: true });
  await writeFile(box, 'no folder');
  const [{ id }] = (await service.sql<{ id: string }>('select id from license where email = $1 limit 1', [
    ADA,
  ])) as [{ id: string }];
  const licenses = service.app.get(LicensesService);
  await licenses.sendKey(id, ACT);
  await service.app
    .get(DataSource)
    .transaction((manager) => enqueueMail(manager, 'email_changed', id, service.clock.now(), { to: ADA }));
  await service.app.get(SignInCodes).send(ADA);
  const failed = 'select 1 from graphile_worker.jobs where last_error is not null and locked_by is null';
  await until(async () => (await service.sql(failed)).length === 3);
  await rm(box);
}

/** What the tables hold of a person; jobs come and go. */
const rowsOf = (ids: readonly string[], rows: readonly string[]) =>
  rows.filter((row) => row.startsWith('public.') && ids.some((id) => row.includes(id)));

test('before, the search finds the address, its predecessor, every label, every machine and her words', () => {
  const forms = search.in(before.join('\n'));
  expect([...forms]).toEqual(expect.arrayContaining([ADA, EARLIER, WORDS, ...LABELS, ...MACHINES]));
});

test('after the erasure no table has personal data of the holder, in any form', async () => {
  await mailsTo(service, ADA, /deleted/);
  const after = await everyRow(service);
  expect([...search.in(after.join('\n'))]).toEqual([]);
  expect(after.filter((row) => row.startsWith('public.audit_event')).length).toBeGreaterThan(5);
});

test('no log line has personal data of the holder, during the erasure or later', () => {
  const logged = service.logged.join('');
  expect(logged).toContain('"task":"mail_license_key_again"');
  expect([...search.in(logged)]).toEqual([]);
});

test('the purchases keep their transaction ids, states and days, and nothing of the buyer', async () => {
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

test('the request says what was erased, and no longer whose it was', () => {
  expect(erased).toMatchObject({
    email: null,
    state: 'honoured',
    days_left: null,
    asked_by: 'staff',
    honoured_at: '2026-11-20T13:00:00Z',
    erased: { licenses: 4, activations: 4, purchases: 3, purchases_kept_until: '2036-12-31' },
  });
});

test('the receipt says what was deleted, what is kept, why and until when, and goes to the address once', async () => {
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

test('no other mail goes to an erased holder: those that waited have nothing to say any more', async () => {
  await makeDue(service);
  await waitForJobs(service);
  expect((await mailsTo(service, ADA, /./)).map(({ subject }) => subject)).toEqual([
    'Your data with com.example.app was deleted',
  ]);
});

test('each of the machines hears that its license is not valid there', async () => {
  expect(ada.tokens).toHaveLength(4);
  for (const token of ada.tokens) {
    const { status, json } = await service.heartbeat(token);
    expect([status, json.code, json.client_action]).toEqual([403, 'binding_released', 'stop']);
  }
});

test('the keys activate nothing, with the one address or the other, and say nothing of an erasure', async () => {
  for (const license_key of ada.keys) {
    for (const email of [ADA, EARLIER]) {
      const { status, json } = await service.activate({ license_key, email }, LABELS[0]);
      expect([status, json.code]).toEqual([404, 'license_not_found']);
    }
  }
});

test('another holder is as before, byte for byte', async () => {
  // Licenses, purchase, activations, release request, code and audit.
  expect(others.length).toBeGreaterThanOrEqual(8);
  const after = new Set(await everyRow(service));
  expect(others.filter((row) => !after.has(row))).toEqual([]);
});

test('a second request finds nothing left, and is honoured all the same', async () => {
  const again = await erase(service, ADA);
  expect(again).toMatchObject({
    state: 'honoured',
    erased: { licenses: 0, activations: 0, purchases: 0, purchases_kept_until: null },
  });
  const receipts = await mailsTo(service, ADA, /was deleted/);
  expect(receipts.filter(({ text }) => !/tax and refunds/.test(text))).toHaveLength(1);
});
