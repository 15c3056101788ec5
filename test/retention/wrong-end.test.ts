import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { deriveLicenseKey } from '../../src/keys/license-key.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';
import { RetentionHarness } from './harness.js';

/*
 * If the expiry of a license is set to a day long past by mistake, the license stops at once and is not deleted: the same
 * activation is valid again when the date is corrected (docs/decisions/0023). All dates are relative to today, because the
 * command line uses the system clock.
 */

const TODAY = new Date();
const daysFromToday = (days: number) => new Date(TODAY.getTime() + days * DAY_MS);
const PAST = `${daysFromToday(-400).toISOString().slice(0, 19)}Z`;
const FUTURE = `${daysFromToday(400).toISOString().slice(0, 19)}Z`;

const service = await Service.start();
const harness = RetentionHarness.forDatabase(service.databaseUrl);
await harness.disableRollUp();
const terminal = Terminal.beside(service);
beforeEach(() => service.clock.set(TODAY));
afterEach(() => service.sql('truncate license, activation, purchase cascade'));

interface License {
  readonly license_id: string;
  readonly license_key: string;
  readonly email: string;
}
const email = 'ada@example.com';
const STOP_IN_PAST = { on_expiry: 'stop', expires_at: PAST };

/** A request of staff. Each has a new token, because a run for a later day deletes expired tokens. */
async function callAsStaff(method: string, path: string, body: object) {
  const authorization = `Bearer ${await service.staffToken('admin')}`;
  return service.call(method, `/support/api/${path}`, body, { authorization });
}
const patch = async (id: string, change: object) => {
  const { status } = await callAsStaff('PATCH', `licenses/${id}`, { ...change, reason: 'a test' });
  expect(status).toBe(200);
};
const setByCommand = (id: string, ...options: string[]) =>
  terminal.json(['license', 'set', id, ...options, '--reason', 'a test']);

async function importLicense(expires_at: string): Promise<License> {
  const license_key = deriveLicenseKey(randomBytes(32), 'MOOR', randomUUID(), 1);
  const file = terminal.file('licenses.csv');
  writeFileSync(file, `license_key,email,expires_at,on_expiry\n${license_key},${email},${expires_at},stop\n`);
  await terminal.json(['license', 'import', file]);
  const [{ id }] = (await service.sql('select id from license')) as [{ id: string }];
  return { license_id: id, license_key, email };
}

async function issueByStaff(terms: object): Promise<License> {
  const { json } = await callAsStaff('POST', 'licenses', { email, ...terms });
  return { license_id: json.license.id, license_key: json.license_key, email };
}

const issueByCommand = async (...options: string[]): Promise<License> => ({
  ...(await terminal.json(['license', 'issue', '--email', email, ...options])),
  email,
});

async function buyLicense(): Promise<License> {
  const purchase = { transaction_id: randomUUID(), email, status: 'paid' } as const;
  const { license_id } = await service.app.get(PurchasesService).record(purchase);
  const license_key = await service.app.get(LicensesService).currentKey(license_id!);
  return { license_id: license_id!, license_key: license_key!, email };
}

/** Runs the retention this many days from today. */
async function runRetention(days: number) {
  const asOf = daysFromToday(days);
  harness.clock.set(asOf);
  service.clock.set(asOf);
  return harness.run(asOf.toISOString());
}

/** All paths by which the end of an active license can be set 13 months into the past. */
const CHANGED: [
  path: string,
  create: () => Promise<License>,
  setPastEnd: (id: string) => Promise<unknown>,
][] = [
  ['staff set date and on_expiry', () => service.issue(), (id) => patch(id, STOP_IN_PAST)],
  [
    'staff set on_expiry of a license that has expired',
    () => service.issue({ on_expiry: 'keep', expires_at: new Date(PAST) }),
    (id) => patch(id, { on_expiry: 'stop' }),
  ],
  [
    'staff set the date of a license with on_expiry: stop',
    () => service.issue({ on_expiry: 'stop', expires_at: new Date(FUTURE) }),
    (id) => patch(id, { expires_at: PAST }),
  ],
  [
    'the command line sets date and on_expiry',
    () => service.issue(),
    (id) => setByCommand(id, '--expires', PAST, '--on-expiry', 'stop'),
  ],
  [
    'the command line sets the date of an imported license',
    () => importLicense(FUTURE),
    (id) => setByCommand(id, '--expires', PAST),
  ],
  ['staff set the date of a license that was bought', buyLicense, (id) => patch(id, STOP_IN_PAST)],
];

test.each(CHANGED)(
  '%s: the license stops and is kept, and is valid again once the date is corrected',
  async (_path, create, setPastEnd) => {
    const license = await create();
    const { token, activation } = (await service.activate(license)).json;
    await setPastEnd(license.license_id);
    // 330 days are less than the 11 months after which the activation would be ended.
    for (const days of [1, 330]) {
      expect((await runRetention(days)).deleted).not.toHaveProperty('license');
      expect((await service.heartbeat(token)).json.code).toBe('license_expired');
      expect((await service.activate(license)).json.code).toBe('license_expired');
    }
    service.clock.set(TODAY);
    await patch(license.license_id, { expires_at: FUTURE });
    expect((await service.heartbeat(token)).status).toBe(200);
    const again = await service.activate(license);
    expect([again.status, again.json.activation.id]).toEqual([200, activation.id]);
  },
);

const CREATED: [path: string, create: () => Promise<License>][] = [
  ['staff', () => issueByStaff(STOP_IN_PAST)],
  ['the command line', () => issueByCommand('--expires', PAST, '--on-expiry', 'stop')],
  ['an import', () => importLicense(PAST)],
];
test.each(CREATED)(
  'a license created by %s with a past date is kept, and activates once the date is corrected',
  async (_by, create) => {
    const license = await create();
    expect((await runRetention(1)).deleted).not.toHaveProperty('license');
    expect((await service.activate(license)).json.code).toBe('license_expired');
    service.clock.set(TODAY);
    await patch(license.license_id, { expires_at: FUTURE });
    expect((await service.activate(license)).status).toBe(201);
  },
);
