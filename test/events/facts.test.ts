import { beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { DAY_MS } from '../../src/core/clock.js';
import type { AuditAction } from '../../src/audit/audit.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { EVENT_TYPES, type EventType } from '../../src/events/outgoing-event.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { publish, withdraw } from '../manifest/publish.js';
import { AUDIT_CONTEXT, NOW, Service } from '../support/harness.js';
import { schemaViolations } from '../support/http/openapi.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { pollFast, startSending, untilSent, type Sending } from './harness.js';

/*
 * The tests cause each type of event in every possible way, and compare the events that are sent. The last tests compare all these
 * events with the audit trail, and search them for personal data.
 */

pollFast();
const LABEL = 'Canary MacBook of Ada';
let sending: Sending;
let service: Service;
let terminal: Terminal;
beforeAll(async () => {
  sending = await startSending({ environment: { SELF_RELEASES_PER_YEAR: '5' } });
  service = sending.service;
  terminal = Terminal.beside(service);
});

const newEmail = () => `canary.${randomUUID()}@example.com`;
const record = (transaction_id: string, status: 'paid' | 'refunded') =>
  service.app.get(PurchasesService).record({ transaction_id, email: newEmail(), status }, AUDIT_CONTEXT);

/** The events of a license in the order of their arrival, without the id of the license. */
async function eventsOf(license_id: string) {
  await untilSent(service);
  const events = sending.receiver.received.filter(({ data }) => data['license_id'] === license_id);
  return events.map(({ type, data }) => {
    const entries = Object.entries(data).filter(([name]) => name !== 'license_id');
    return [type, Object.fromEntries(entries)];
  });
}

/** The times at which an event of a license occurred and was queued. */
async function timesOf(license_id: string, type: EventType) {
  const [row] = await service.sql<{ occurred_at: Date; queued_at: Date }>(
    'select occurred_at, queued_at from outgoing_event where license_id = $1 and type = $2',
    [license_id, type],
  );
  return [row!.occurred_at, row!.queued_at];
}

/** Issues a license and activates machines. @returns the license, the ids of its activations, and the events of both steps */
async function issueAndActivate(machines: number) {
  const license = await service.issue({ email: newEmail(), machines_allowed: machines });
  const ids: string[] = [];
  for (let machine = 0; machine < machines; machine += 1) {
    const { json } = await service.activate(license, `machine ${machine}`, { hostname_hint: LABEL });
    ids.push(json.activation.id as string);
  }
  const issued = ['license.issued', {}];
  return {
    ...license,
    ids,
    firstEvents: [issued, ...ids.map((id) => ['activation.created', { activation_id: id }])],
  };
}

test('an issue by staff, by a purchase or by an import causes license.issued', async () => {
  const { license_id } = await service.issue({ email: newEmail() });
  expect(await eventsOf(license_id)).toEqual([['license.issued', {}]]);
  const sold = await record('pi_canary_issue', 'paid');
  await record('pi_canary_issue', 'paid');
  expect(await eventsOf(sold.license_id!)).toEqual([['license.issued', {}]]);
  writeFileSync(terminal.file('old.csv'), `license_key,email\nACME_0000-1111-2222-3333,${newEmail()}\n`);
  expect((await terminal.run(['license', 'import', 'old.csv'])).code).toBe(0);
  const [imported] = await service.sql<{ id: string }>(
    'select id from license order by created_at desc limit 1',
  );
  expect(await eventsOf(imported!.id)).toEqual([['license.issued', {}]]);
});

test('the import of an old purchase causes license.issued at the present time, and license.ended if it was refunded', async () => {
  const file = terminal.file('export.csv');
  writeFileSync(
    file,
    `key,mail,order,when,state\nOLDK-0001-AAAA,${newEmail()},old-1,2024-01-02,active\nOLDK-0002-AAAA,${newEmail()},old-2,2024-01-02,refunded\n`,
  );
  const maps = [
    'key=previous_key',
    'mail=email',
    'order=transaction_id',
    'when=purchased_at',
    'state=status',
  ];
  const run = await terminal.run([
    'license',
    'import',
    file,
    '--no-mail',
    ...maps.flatMap((map) => ['--map', map]),
  ]);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  for (const [key, ends] of [
    ['OLDK-0001-AAAA', []],
    ['OLDK-0002-AAAA', [['license.ended', { reason: 'refunded' }]]],
  ] as const) {
    const { license_id } = await terminal.json(['license', 'show', key]);
    expect(await eventsOf(license_id)).toEqual([['license.issued', {}], ...ends]);
    const times = await service.sql<{ is_old: boolean }>(
      `select occurred_at < now() - interval '1 year' or queued_at < now() - interval '1 year' as is_old
       from outgoing_event where license_id = $1`,
      [license_id],
    );
    expect(times.map(({ is_old }) => is_old)).not.toContain(true);
  }
});

test('the end of an imported license has the reason that is its status: refunded by its purchase, otherwise revoked', async () => {
  const file = terminal.file('gumroad.csv');
  const ends = [
    ['OLDK-0003-AAAA', 'old-3,1,1', 'refunded'],
    ['OLDK-0004-AAAA', 'old-4,0,1', 'revoked'],
    ['OLDK-0005-AAAA', ',1,1', 'revoked'],
  ] as const;
  const rows = ends.map(([key, state]) => `${key},${newEmail()},${state}`);
  const header = 'License Key,Purchase Email,Purchase ID,Fully Refunded?,Access Revoked?';
  writeFileSync(file, [header, ...rows].join('\n'));
  await terminal.json(['license', 'import', file, '--from', 'gumroad', '--no-mail']);
  for (const [key, , reason] of ends) {
    const { license_id, status } = await terminal.json(['license', 'show', key]);
    expect(status).toBe(reason);
    expect(await eventsOf(license_id)).toEqual([
      ['license.issued', {}],
      ['license.ended', { reason }],
    ]);
  }
});

test('a new activation causes activation.created, and a repeated request causes no event', async () => {
  const license = await issueAndActivate(1);
  await service.activate(license, 'machine 0');
  expect(await eventsOf(license.license_id)).toEqual(license.firstEvents);
});

test('a refusal at the machine limit causes license.limit_reached, at most once a day', async () => {
  const license = await issueAndActivate(1);
  const refuse = async () => expect((await service.activate(license, 'another')).status).toBe(409);
  await refuse();
  await refuse();
  service.clock.advance(DAY_MS - 1000);
  await refuse();
  const limit = ['license.limit_reached', {}];
  expect(await eventsOf(license.license_id)).toEqual([...license.firstEvents, limit]);
  service.clock.advance(2000);
  await refuse();
  expect(await eventsOf(license.license_id)).toEqual([...license.firstEvents, limit, limit]);
  service.clock.set(NOW);
});

test('a license.limit_reached from a clock that was ahead does not suppress the next one', async () => {
  const license = await issueAndActivate(1);
  const refuse = async () => expect((await service.activate(license, 'another')).status).toBe(409);
  service.clock.advance(DAY_MS);
  await refuse();
  service.clock.set(NOW);
  await refuse();
  await refuse();
  const limit = ['license.limit_reached', {}];
  expect(await eventsOf(license.license_id)).toEqual([...license.firstEvents, limit, limit]);
});

test('a release by the holder, by staff or by retention causes activation.released with that reason', async () => {
  const { ids, ...license } = await issueAndActivate(3);
  const releases = service.app.get(ReleaseService);
  await releases.releaseForHolder(ids[0]!, license.email);
  await releases.releaseForHolder(ids[0]!, license.email);
  await releases.release(ids[1]!, AUDIT_CONTEXT);
  await service.setLicense(license.license_id, { staff_status: 'revoked' });
  service.clock.advance(340 * DAY_MS);
  await service.app.get(RetentionService).run();
  const released = (index: number, reason: string) => [
    'activation.released',
    { activation_id: ids[index], reason },
  ];
  expect(await eventsOf(license.license_id)).toEqual([
    ...license.firstEvents,
    released(0, 'holder'),
    released(1, 'staff'),
    ['license.ended', { reason: 'revoked' }],
    released(2, 'retention'),
  ]);
  service.clock.set(NOW);
});

test('a refund and a revocation cause license.ended, and the correction of a revocation causes license.reinstated', async () => {
  const { license_id } = await record('pi_canary_refund', 'paid');
  await record('pi_canary_refund', 'refunded');
  await record('pi_canary_refund', 'refunded');
  const refunded = ['license.ended', { reason: 'refunded' }];
  expect(await eventsOf(license_id!)).toEqual([['license.issued', {}], refunded]);
  const license = await issueAndActivate(1);
  await service.setLicense(license.license_id, { staff_status: 'suspended' });
  await service.setLicense(license.license_id, { staff_status: 'revoked' });
  await service.setLicense(license.license_id, { machines_allowed: 7 });
  await service.setLicense(license.license_id, { staff_status: 'active' });
  expect(await eventsOf(license.license_id)).toEqual([
    ...license.firstEvents,
    ['license.ended', { reason: 'revoked' }],
    ['license.reinstated', {}],
  ]);
});

test('license.reinstated of an expired license has the time of the correction, not that of the expiry', async () => {
  const expires_at = new Date(Date.parse(NOW) - DAY_MS);
  const { license_id } = await service.issue({ expires_at, on_expiry: 'stop' });
  service.clock.advance(100 * DAY_MS);
  await service.setLicense(license_id, { staff_status: 'revoked' });
  service.clock.advance(100 * DAY_MS);
  await service.setLicense(license_id, { staff_status: 'active' });
  const at = service.clock.now();
  service.clock.set(NOW);
  expect(await timesOf(license_id, 'license.reinstated')).toEqual([at, at]);
});

test('if a refund is reported before its purchase, the purchase causes license.issued and license.ended', async () => {
  await record('pi_canary_early', 'refunded');
  const { license_id } = await record('pi_canary_early', 'paid');
  expect(await eventsOf(license_id!)).toEqual([
    ['license.issued', {}],
    ['license.ended', { reason: 'refunded' }],
  ]);
});

test('an erasure causes license.ended and license.erased, and only license.erased if the license had ended', async () => {
  const valid = await issueAndActivate(2);
  const ended = await issueAndActivate(1);
  await service.setLicense(ended.license_id, { staff_status: 'revoked' });
  const erasures = service.app.get(ErasureService);
  // The requests are made a year ahead of the clock of the database, so their jobs are not due. Only this test carries them out.
  service.clock.advance(365 * DAY_MS);
  const erased_at = service.clock.now();
  for (const { email } of [valid, ended])
    await erasures.run((await erasures.request(email)).id, AUDIT_CONTEXT);
  service.clock.set(NOW);
  for (const { license_id } of [valid, ended])
    expect(await timesOf(license_id, 'license.erased')).toEqual([erased_at, erased_at]);
  const erased = ['license.erased', {}];
  const endOf = (reason: string) => ['license.ended', { reason }];
  expect(await eventsOf(valid.license_id)).toEqual([...valid.firstEvents, endOf('erased'), erased]);
  expect(await eventsOf(ended.license_id)).toEqual([...ended.firstEvents, endOf('revoked'), erased]);
});

test('a change of the holder, of the machine limit, of the key or of the expiry causes no event', async () => {
  const license = await issueAndActivate(1);
  await service.setLicense(license.license_id, { email: newEmail() });
  await service.setLicense(license.license_id, { machines_allowed: 3 });
  await service.app.get(LicensesService).rekey(license.license_id, AUDIT_CONTEXT);
  await service.setLicense(license.license_id, { expires_at: new Date(NOW), on_expiry: 'stop' });
  expect(await eventsOf(license.license_id)).toEqual(license.firstEvents);
});

test('the publication, the renewal and the withdrawal of a manifest each cause manifest.published', async () => {
  for (const version of ['1.0.0', '1.1.0', '1.1.0']) {
    service.clock.advance(1000);
    await publish(service, version);
  }
  service.clock.advance(1000);
  await withdraw(service);
  await untilSent(service);
  const published = sending.receiver.received.filter(({ type }) => type === 'manifest.published');
  const rows = await service.sql<{ sequence: string }>('select sequence from manifest order by sequence');
  expect(published.map(({ data }) => data)).toEqual(
    ['1.0.0', '1.1.0', '1.1.0', '1.0.0'].map((version, index) => ({
      sequence: Number(rows[index]!.sequence),
      version,
    })),
  );
});

/** The event that each audited action causes; null for an action without an event. A new action must be added here. */
const EVENT_OF_ACTION: Record<AuditAction, EventType | null> = {
  'license.issue': 'license.issued',
  'license.import': 'license.issued',
  'activation.release': 'activation.released',
  'erasure.run': 'license.erased',
  'manifest.publish': 'manifest.published',
  'manifest.withdraw': 'manifest.published',
  // Of these two actions, only a change to the status revoked (license.set) or refunded (purchase.record) causes this event.
  'license.set': 'license.ended',
  'purchase.record': 'license.ended',
  'license.rekey': null,
  'license.send_key': null,
  'license.send_keys': null,
  'erasure.request': null,
  'staff.add': null,
  'staff.token': null,
  'staff.revoke_token': null,
  'staff.remove': null,
  'staff.role': null,
  'staff.link': null,
  'passkey.add': null,
  'passkey.rename': null,
  'passkey.remove': null,
  'release_request.decide': null,
  'crash_group.set': null,
  'keys.accept_secret': null,
  'events.resend': null,
  'events.stop': null,
};

test('each audited action that causes an event has an event of that type', async () => {
  const actions = Object.entries(EVENT_OF_ACTION).filter(([, type]) => type !== null);
  const seen = await service.sql<{
    action: string;
    license_id: string | null;
    change: Record<string, string>;
  }>('select action, license_id, change from audit_event where action = any($1)', [
    actions.map(([action]) => action),
  ]);
  // The tests above have carried out each of these actions.
  expect([...new Set(seen.map(({ action }) => action))].toSorted()).toEqual(
    actions.map(([action]) => action).toSorted(),
  );
  const events = sending.receiver.received;
  for (const { action, license_id, change } of seen) {
    const endsNoLicense =
      (action === 'license.set' && change['staff_status'] !== 'revoked') ||
      (action === 'purchase.record' && (change['status'] !== 'refunded' || !license_id));
    if (endsNoLicense) continue;
    const type = EVENT_OF_ACTION[action as AuditAction];
    const ids = { license_id, activation_id: change['activation_id'], sequence: change['sequence'] };
    const isOfAction = (data: Readonly<Record<string, unknown>>) =>
      Object.entries(ids).every(([name, value]) => (value ?? null) === null || data[name] === value);
    expect(events.filter((event) => event.type === type && isOfAction(event.data))).not.toEqual([]);
  }
});

test('every type of event was sent, every signature was valid, and no event contains personal data or a key', async () => {
  const { received, refused } = sending.receiver;
  expect(refused).toEqual([]);
  expect([...new Set(received.map(({ type }) => type))].toSorted()).toEqual(EVENT_TYPES.toSorted());
  for (const { body } of received)
    expect(schemaViolations('/components/schemas/Event', JSON.parse(body))).toEqual([]);
  const members = received.flatMap(({ data }) => Object.keys(data));
  expect(new Set(members)).toEqual(new Set(['license_id', 'activation_id', 'reason', 'sequence', 'version']));
  const sent = received.map(({ headers, body }) => JSON.stringify(headers) + body).join('\n');
  const search = new LeakSearch(formsOfText(LABEL));
  expect(sent).not.toMatch(/@|MOOR_|ACME_|OLDK-|pi_|Canary|canary\.|[0-9a-f]{64}/);
  expect([...search.in(sent)]).toEqual([]);
  const { host, ...headers } = received[0]!.headers;
  expect(host).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(Object.keys(headers).toSorted()).toEqual([
    'accept',
    'accept-encoding',
    'accept-language',
    'connection',
    'content-length',
    'content-type',
    'sec-fetch-mode',
    'user-agent',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ]);
});

test('without EVENTS_URL nothing is recorded, and the triggers are disabled', async () => {
  const off = await Service.start();
  const license = await off.issue();
  await off.activate(license, 'one');
  await off.activate(license, 'two');
  await off.setLicense(license.license_id, { staff_status: 'revoked' });
  expect(await off.sql('select from outgoing_event')).toEqual([]);
  expect(await off.sql('select from event_recording')).toEqual([]);
  const states = "select tgenabled, count(*)::int from pg_trigger where tgname ~ '_is_an_event$' group by 1";
  expect(await off.sql(states)).toEqual([{ tgenabled: 'D', count: 5 }]);
  expect(await service.sql(states)).toEqual([{ tgenabled: 'O', count: 5 }]);
  await off.close();
});
