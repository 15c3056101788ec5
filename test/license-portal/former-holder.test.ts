import { beforeAll, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { findLicenses } from '../../src/activation/license-overview.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { countSelfReleases } from '../../src/releases/self-releases.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { ReleaseDecisions } from '../../src/releases/release-decisions.js';
import { erase, formsOfMachine, outbox, sell, waitForJobs } from '../erasure/harness.js';
import { AUDIT_CONTEXT, machineId, Service, HOUR_MS } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { Browser } from './harness.js';
import { OpenTransaction } from '../support/open-transaction.js';

/** The former holder and the new holder of the license. */
const [ADA, BOB] = ['ada@leak.example', 'bob@example.com'];
const LABELS = ['Canary Studio', 'Canary Laptop'];
const REQUEST_REASONS = ['Canary was sold', 'Canary is broken', 'Canary again'];
const STAFF_REASON = 'Canary moved abroad';
/** Searches for the data of the former holder: address, labels, machine ids and reasons. */
const search = new LeakSearch([
  ...[ADA, STAFF_REASON, ...LABELS, ...REQUEST_REASONS].flatMap(formsOfText),
  ...LABELS.flatMap((label) => formsOfMachine(machineId(label))),
]);

let service: Service;
let license: { license_id: string; license_key: string };
/** The activation that stays active, and the ids of the ones that ended before the license got another holder. */
let active: { id: string; token: string };
let ended: string[];
beforeAll(async () => {
  service = await Service.start({
    environment: { DEFAULT_MACHINES_PER_LICENSE: '3', SELF_RELEASES_PER_YEAR: '1' },
  });
  const licenses = service.app.get(LicensesService);
  const license_id = await sell(service, ADA, 'txn_1');
  license = { license_id, license_key: (await licenses.currentKey(license_id))! };
  const activate = async (hostname_hint: string) => {
    const { json } = await service.activate({ ...license, email: ADA }, hostname_hint, { hostname_hint });
    return { id: json.activation.id as string, token: json.token as string };
  };
  ended = [(await activate(LABELS[0]!)).id, (await activate(LABELS[1]!)).id];
  active = await activate('The machine at the till');
  service.clock.advance(HOUR_MS);
  const requests = service.app.get(ReleaseRequests);
  await requests.create(ended[0]!, REQUEST_REASONS[0]!);
  await service.app.get(ReleaseService).release(ended[0]!, { actor: 'grace', reason: STAFF_REASON });
  await service.app.get(ReleaseService).release(ended[1]!, AUDIT_CONTEXT);
  await requests.create(active.id, REQUEST_REASONS[1]!);
  const [waiting] = await service.sql<{ id: string }>(
    'select id from release_request where decided_at is null',
  );
  await service.app.get(ReleaseDecisions).decide(waiting!.id, 'decline', AUDIT_CONTEXT);
  await requests.create(active.id, REQUEST_REASONS[2]!);
  // The clock of the instance that changes the address is a second behind. The change is stored with the time of the newest event
  // of the license, so that the events of the former holder remain before it.
  service.clock.advance(-1_000);
  await licenses.set(license_id, { email: BOB }, { actor: 'grace', reason: STAFF_REASON });
  service.clock.advance(HOUR_MS);
});

/** All responses about the license that the new holder can get, signed in with a code and with a key. */
async function holderResponses(): Promise<Record<string, string>> {
  const byCode = await new Browser(service).beginSession(BOB);
  const byKey = await new Browser(service).signInByKey({ ...license, email: BOB });
  return {
    export: (await byCode.call('GET', '/export')).text,
    overview: (await byCode.call('GET', '/session')).text,
    'overview by key': (await byKey.call('GET', '/session')).text,
  };
}

test('the new holder sees the license and its active machine, and no data of the former holder', async () => {
  const seen = await holderResponses();
  for (const [name, text] of Object.entries(seen)) {
    expect([name, ...search.in(text)]).toEqual([name]);
    expect(text).toContain(license.license_id);
    expect(text).toContain('The machine at the till');
    for (const id of ended) expect(text).not.toContain(id);
  }
  const [exported] = JSON.parse(seen['export']!).licenses;
  expect(exported).toMatchObject({ machines_in_use: 1, history: [] });
  expect(exported.activations).toMatchObject([
    // The machine id and the release requests are not shown, because they belong to the former holder.
    { id: active.id, machine_id: null, release_requests: [] },
  ]);
  expect(seen['export']).not.toContain(machineId('The machine at the till'));
  expect((await service.heartbeat(active.token)).status).toBe(200);
});

test('a release of an activation that ended under the former holder, and a request for one, are answered as for an unknown id', async () => {
  const bob = await new Browser(service).beginSession(BOB);
  for (const id of ended) {
    for (const action of ['release', 'release-request']) {
      const { status, json } = await bob.call('POST', `/activations/${id}/${action}`, {});
      expect([action, status, json?.code]).toEqual([action, 404, 'not_found']);
    }
  }
});

test('staff still see all activations', async () => {
  const [seen] = await findLicenses(service.app.get(DataSource), { id: license.license_id });
  expect(seen!.activations.map(({ id }) => id).toSorted()).toEqual([active.id, ...ended].toSorted());
});

test('ended activations and release requests keep no data of the former holder, and the purchase keeps the address', async () => {
  const rows = await service.sql(
    `select to_jsonb(a)::text as row from activation a union all select to_jsonb(r)::text from release_request r`,
  );
  expect([...search.in(JSON.stringify(rows))]).toEqual([]);
  expect(await service.sql('select email from purchase')).toEqual([{ email: ADA }]);
  // Decided requests stay without their reasons; the former holder's open request is deleted.
  const requests = await service.sql('select decision from release_request order by decision');
  expect(requests).toEqual([{ decision: 'decline' }, { decision: 'release' }]);
});

test('the export of the new holder shows later requests and releases', async () => {
  const bob = await new Browser(service).beginSession(BOB);
  const { status } = await bob.call('POST', `/activations/${active.id}/release-request`, {
    reason: 'Till is new.',
  });
  expect(status).toBe(202);
  await service.app.get(ReleaseService).release(active.id, AUDIT_CONTEXT);
  const { json } = await bob.call('GET', '/export');
  expect(json.licenses[0].activations).toMatchObject([
    { id: active.id, state: 'released', release_requests: [{ reason: 'Till is new.', decision: 'release' }] },
  ]);
  expect(json.licenses[0].history).toMatchObject([{ action: 'activation.release' }]);
});

test('a release request of the former holder that arrives after the address changed is not stored', async () => {
  const { json } = await service.activate({ ...license, email: BOB }, 'second');
  await service.app.get(ReleaseRequests).create(json.activation.id, REQUEST_REASONS[0]!, ADA);
  expect(await service.sql('select 1 from release_request where reason = $1', [REQUEST_REASONS[0]])).toEqual(
    [],
  );
});

test('a release request in a session by key is not stored if the license gets another address while it runs', async () => {
  const issued = await service.issue({ email: 'key@leak.example' });
  const { json } = await service.activate(issued);
  const holder = await new Browser(service).signInByKey(issued);
  // The update of a change of the address, before its commit.
  const update = 'update license set email = $2, email_since = $3 where id = $1';
  const values = [issued.license_id, 'next@example.com', service.clock.now()];
  const change = await OpenTransaction.begin(service, update, values);
  const path = `/activations/${json.activation.id}/release-request`;
  const request = holder.call('POST', path, { reason: 'Lost' });
  await change.untilWaiting(request);
  await change.commit();
  expect((await request).status).toBe(202);
  const stored = 'select 1 from release_request where activation_id = $1';
  expect(await service.sql(stored, [json.activation.id])).toEqual([]);
});

/** Issues a license with an active machine, and changes its address by an instance whose clock is ahead by `aheadMs`. */
async function changeAddressAhead(next: string, aheadMs: number): Promise<string> {
  const issued = await service.issue({ email: 'earlier@leak.example' });
  const { json } = await service.activate(issued);
  service.clock.advance(aheadMs);
  await service.setLicense(issued.license_id, { email: next });
  service.clock.advance(-aheadMs);
  return json.activation.id;
}

/** Reads the subjects of all mails to an address, in the order of the alphabet. */
async function subjectsTo(email: string): Promise<string[]> {
  await waitForJobs(service, 'mail_%');
  const mails = (await outbox(service)).filter(({ to }) => to === email);
  return mails.map(({ subject }) => subject).toSorted();
}

test('events of the new holder are mailed and shown, also if the clock of their instance shows a time before the change of the address', async () => {
  const email = 'later@example.com';
  const id = await changeAddressAhead(email, 5_000);
  const requests = service.app.get(ReleaseRequests);
  await requests.create(id, 'Sold', email);
  const find = 'select id from release_request where activation_id = $1';
  const [request] = await service.sql<{ id: string }>(find, [id]);
  // A mail is composed when it is sent. The mails about the request say that the machine stays active, so they are sent before the
  // release below.
  await waitForJobs(service, 'mail_%');
  await service.app.get(ReleaseDecisions).decide(request!.id, 'decline', AUDIT_CONTEXT);
  await waitForJobs(service, 'mail_%');
  await service.app.get(ReleaseService).release(id, AUDIT_CONTEXT);
  expect(await subjectsTo(email)).toEqual([
    'A machine stays on your license for com.example.app',
    'A machine was released from your license for com.example.app',
    'The e-mail address of your license for com.example.app has changed',
    'You asked to release a machine from your license for com.example.app',
  ]);
  const { json } = await (await new Browser(service).beginSession(email)).call('GET', '/export');
  expect(json.licenses[0].activations).toMatchObject([{ id, release_requests: [{ reason: 'Sold' }] }]);
  const [released, decided] = json.licenses[0].history;
  expect(released).toMatchObject({ action: 'activation.release' });
  expect(decided).toMatchObject({ action: 'release_request.decide', change: { decision: 'decline' } });
});

test('the export of the new holder has what staff did through an instance whose clock shows a time before the change of the address', async () => {
  const email = 'owns@example.com';
  const id = await changeAddressAhead(email, 5_000);
  const [row] = await service.sql('select license_id from activation where id = $1', [id]);
  const license_id = row!['license_id'] as string;
  await service.app.get(ReleaseRequests).create(id, 'Sold', email);
  const [request] = await service.sql('select id from release_request where activation_id = $1', [id]);
  await service.app.get(ReleaseDecisions).decide(request!['id'] as string, 'decline', AUDIT_CONTEXT);
  await service.setLicense(license_id, { machines_allowed: 4 });
  const licenses = service.app.get(LicensesService);
  await licenses.sendKey(license_id, AUDIT_CONTEXT);
  await licenses.rekey(license_id, AUDIT_CONTEXT);
  const { json } = await (await new Browser(service).beginSession(email)).call('GET', '/export');
  const [exported] = json.licenses;
  const actions = ['license.rekey', 'license.send_key', 'license.set', 'release_request.decide'];
  expect(exported.history.map(({ action }: { action: string }) => action)).toEqual(actions);
  expect(exported.keys_replaced_at).toHaveLength(1);
});

test('of two changes of the address, also if the clock of the second instance is behind, the last holder sees neither', async () => {
  const id = await changeAddressAhead('second@example.com', 5_000);
  const [row] = await service.sql('select license_id from activation where id = $1', [id]);
  await service.setLicense(row!['license_id'] as string, { email: 'third@example.com' });
  const { json } = await (
    await new Browser(service).beginSession('third@example.com')
  ).call('GET', '/export');
  expect(json.licenses[0].history).toEqual([]);
});

test('a release by the new holder through an instance whose clock shows a time before the change of the address counts and is mailed', async () => {
  const email = 'releases@example.com';
  const id = await changeAddressAhead(email, HOUR_MS - 1);
  const { activation } = await service.app.get(ReleaseService).releaseForHolder(id, email);
  expect(await subjectsTo(email)).toContain('A machine was released from your license for com.example.app');
  expect(
    await countSelfReleases(service.app.get(DataSource), activation.license_id, service.clock.now()),
  ).toBe(1);
});

test('if the change of the address is over an hour ahead, a release keeps its own time', async () => {
  // The first moment of the new holder is a millisecond after the change, so it is over an hour ahead.
  const id = await changeAddressAhead('wrong@example.com', HOUR_MS);
  const { activation } = await service.app.get(ReleaseService).release(id, AUDIT_CONTEXT);
  expect(activation.ended_at).toEqual(service.clock.now());
});

test('a change of the address ends the codes of the earlier one, which an erasure could not find', async () => {
  const [earlier, later, other] = ['eve@leak.example', 'eve@example.com', 'mia@leak.example'];
  const issued = await service.issue({ email: earlier });
  const kept = [await service.issue({ email: other }), await service.issue({ email: other })];
  const signedIn = await new Browser(service).beginSession(earlier);
  const [waiting, otherWaiting] = [new Browser(service), new Browser(service)];
  const code = await waiting.requestCode(earlier);
  const otherCode = await otherWaiting.requestCode(other);
  const licenses = service.app.get(LicensesService);
  await licenses.set(issued.license_id, { email: later }, AUDIT_CONTEXT);
  // Another license still has this address.
  await licenses.set(kept[0]!.license_id, { email: later }, AUDIT_CONTEXT);
  expect((await signedIn.call('GET', '/licenses')).json.licenses).toEqual([]);
  expect((await waiting.call('POST', '/session', { email: earlier, code })).status).not.toBe(204);
  expect((await otherWaiting.call('POST', '/session', { email: other, code: otherCode })).status).toBe(204);
  await erase(service, later);
  expect(await service.sql('select 1 from one_time_code where email = $1', [earlier])).toEqual([]);
});

test('the erasure of the former holder changes no data of the new one', async () => {
  const licenseRows = () =>
    service.sql(
      `select l.email, l.ended_at, a.id, a.hostname_hint, a.machine_id, a.ended_at as activation_ended_at
       from license l join activation a on a.license_id = l.id order by a.id`,
    );
  const before = await licenseRows();
  await erase(service, ADA);
  expect(await licenseRows()).toEqual(before);
  await service.app.get(ErasureService).replay();
  expect(await licenseRows()).toEqual(before);
  expect(await service.sql('select email from purchase')).toEqual([{ email: null }]);
});

test('of two simultaneous changes of the licenses of an address, the later one ends the codes of this address', async () => {
  const earlier = 'twice@leak.example';
  const [first, second] = [await service.issue({ email: earlier }), await service.issue({ email: earlier })];
  await new Browser(service).call('POST', '/session/code', { email: earlier });
  // The state of the first change before its commit.
  const sql = `with changed as (update license set email = 'twice@example.com' where id = $1)
    select from one_time_code where email = $2 for update`;
  const change = await OpenTransaction.begin(service, sql, [first.license_id, earlier]);
  const later = service.setLicense(second.license_id, { email: 'other@example.com' });
  await change.untilWaiting(later);
  await change.commit();
  await later;
  expect(await service.sql('select 1 from one_time_code where email = $1', [earlier])).toEqual([]);
});
