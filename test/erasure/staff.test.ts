import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { findRequest, waitUntilCarriedOut, mailsTo, sell, staffHeaders } from './harness.js';
import { FakeClock, Service } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { whileGone, whileLocked } from '../support/tables.js';

const ERASURES = '/support/api/erasures';
const REASON = 'Asked by phone.';
/**
 * Far in the future: the job queue uses the database's clock, so no job of a holder's request is due. A request of staff is queued
 * without a time, so its job runs at once.
 */
const NOON = '2096-02-10T12:00:00Z';

const service = await Service.start({ clock: new FakeClock(NOON) });
const support = await staffHeaders(service, 'support');
const admin = await staffHeaders(service, 'admin');
beforeEach(() => service.clock.set(NOON));
afterEach(() => service.sql('truncate erasure_request'));

const requestErasure = (body: unknown, headers: Record<string, string> = admin) =>
  service.call('POST', ERASURES, body, headers);
const run = (id: string, headers: Record<string, string> = admin, body?: unknown) =>
  service.call('POST', `${ERASURES}/${id}/run`, body, headers);
const list = async () => (await service.call('GET', ERASURES, undefined, support)).json.erasures;
const requestAsHolder = (email: string) => service.app.get(ErasureService).request(email);
const expectNoRequest = async () => expect(await service.sql('select 1 from erasure_request')).toEqual([]);

/** Reads the audit events of erasures, the newest last. */
const readTrail = () =>
  service.sql<{ action: string }>(
    "select actor, action, reason, license_id, change, at from audit_event where action like 'erasure.%' order by id",
  );

test('a request of an admin gets 202, and a job carries it out at once', async () => {
  const license_id = await sell(service, 'ada@example.com', 'at-once');
  const { status, json } = await requestErasure({ email: ' Ada@Example.COM ', reason: REASON });
  expect(status).toBe(202);
  expect(json.erasure).toEqual({
    id: expect.any(String),
    email: 'ada@example.com',
    asked_by: 'staff',
    reason: REASON,
    received_on: '2096-02-10',
    due_on: '2096-03-11',
    days_left: 30,
    runs_at: NOON,
    state: 'waiting',
    honoured_at: null,
    cancelled_at: null,
    erased: null,
  });
  expect(await waitUntilCarriedOut(service, json.erasure.id)).toMatchObject({
    email: null,
    reason: REASON,
    days_left: null,
  });
  expect(await service.sql('select email, ended_at from license where id = $1', [license_id])).toEqual([
    { email: null, ended_at: new Date(NOON) },
  ]);
  expect(await mailsTo(service, 'ada@example.com', /was deleted/)).toHaveLength(1);
});

test('the audit trail shows who requested or ran an erasure and when, the reason of a request, and no erased address', async () => {
  const { id } = (await requestErasure({ email: 'grace@example.com', reason: REASON })).json.erasure;
  await waitUntilCarriedOut(service, id);
  const holderRequest = await requestAsHolder('linus@example.com');
  await run(holderRequest.id);
  await run(holderRequest.id);
  const entry = { actor: 'admin@staff.example', license_id: null, at: new Date(NOON) };
  expect((await readTrail()).slice(-2)).toEqual([
    { ...entry, action: 'erasure.request', reason: REASON, change: { erasure_id: id } },
    { ...entry, action: 'erasure.run', reason: null, change: { erasure_id: holderRequest.id } },
  ]);
  expect(JSON.stringify(await readTrail())).not.toMatch(/(ada|grace|linus)@/);
});

test("an admin can carry out a holder's waiting request at once, and a repeated call has the same response", async () => {
  const license_id = await sell(service, 'early@example.com', 'early');
  const { id } = await requestAsHolder('early@example.com');
  const first = await run(id);
  expect(first.status).toBe(200);
  expect(first.json.erasure).toMatchObject({ state: 'honoured', asked_by: 'holder', email: null });
  expect(await service.sql('select email from license where id = $1', [license_id])).toEqual([
    { email: null },
  ]);
  service.clock.advance(DAY_MS);
  const second = await run(id);
  expect([second.status, second.text]).toEqual([200, first.text]);
  expect(await mailsTo(service, 'early@example.com', /was deleted/)).toHaveLength(1);
});

test('an id may be in upper case, and is written to the tombstone file in lower case', async () => {
  await sell(service, 'shouted@example.com', 'shouted');
  const { id } = await requestAsHolder('shouted@example.com');
  const { status, json } = await run(id.toUpperCase());
  expect([status, json.erasure.id, json.erasure.state]).toEqual([200, id, 'honoured']);
  const written = readFileSync(join(service.dataDir, 'erased.txt'), 'utf8');
  expect(written).toContain(`\nerasure_request ${id}\n`);
  expect((await readTrail()).at(-1)).toMatchObject({ change: { erasure_id: id } });
});

test('a cancelled request is not carried out', async () => {
  const license_id = await sell(service, 'stays@example.com', 'stays');
  const { id } = await requestAsHolder('stays@example.com');
  await service.app.get(ErasureService).cancel(id);
  const { status, json } = await run(id);
  expect([status, json.erasure.state, json.erasure.erased]).toEqual([200, 'taken_back', null]);
  expect(await service.sql('select email from license where id = $1', [license_id])).toEqual([
    { email: 'stays@example.com' },
  ]);
});

test('the list has the waiting requests by days left, and then the finished requests, the newest first', async () => {
  const requestAfter = async (days: number, email: string) => {
    service.clock.set(new Date(Date.parse(NOON) + days * DAY_MS));
    return (await requestAsHolder(email)).id;
  };
  const [second, third, first] = [
    await requestAfter(-5, 'second@example.com'),
    await requestAfter(0, 'third@example.com'),
    await requestAfter(-31, 'first@example.com'),
  ];
  // Finished requests are ordered by their ids, which contain the real time: the last one is the newest.
  const ended = [await requestAfter(-40, 'ended@example.com'), await requestAfter(-50, 'later@example.com')];
  service.clock.set(NOON);
  for (const id of ended) await run(id);
  const listed: { id: string; days_left: number; state: string }[] = await list();
  expect(listed.map(({ id, days_left }) => [id, days_left])).toEqual([
    [first, -1],
    [second, 25],
    [third, 30],
    ...ended.toReversed().map((id) => [id, null]),
  ]);
});

test('the role support, which may only list requests, gets 403', async () => {
  const { id } = await requestAsHolder('ada@example.com');
  for (const answer of [
    await requestErasure({ email: 'x@example.com', reason: REASON }, support),
    await run(id, support),
  ]) {
    expect([answer.status, answer.json.code, answer.json.client_action]).toEqual([403, 'forbidden', 'fix']);
  }
  expect(await list()).toMatchObject([{ id, email: 'ada@example.com', state: 'waiting' }]);
  // The role is checked before the body, so that such a caller gets no validation errors.
  expect((await requestErasure({ email: 7 }, support)).status).toBe(403);
});

test('a caller who is not signed in gets 401', async () => {
  const answers = [
    await service.call('GET', ERASURES),
    await requestErasure({ email: 'ada@example.com', reason: REASON }, {}),
    await run(randomUUID(), {}),
  ];
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual(
    answers.map(() => [401, 'sign_in_required']),
  );
  await expectNoRequest();
});

const VALID = { email: 'ada@example.com', reason: REASON };
test.each([
  ['/email', 'absent', { email: undefined }],
  ['/email', 'null', { email: null }],
  ['/email', 'a list', { email: ['ada@example.com'] }],
  ['/email', 'no address', { email: 'ada' }],
  ['/email', 'two addresses', { email: 'ada@example.com, bob@example.com' }],
  ['/email', 'of 255 characters', { email: `${'a'.repeat(243)}@example.com` }],
  ['/email', 'with a NUL', { email: 'ada\0@example.com' }],
  ['/reason', 'absent', { reason: undefined }],
  ['/reason', 'null', { reason: null }],
  ['/reason', 'blank', { reason: ' \n' }],
  ['/reason', 'of 501 characters', { reason: 'x'.repeat(501) }],
  ['/reason', 'with an e-mail address', { reason: 'ada@example.com asked' }],
  ['/reason', 'with half a surrogate pair', { reason: 'asked\ud83d' }],
])('a request gets 422 if its %s is %s, and is not stored', async (pointer, _what, change) => {
  const { status, json, text } = await requestErasure({ ...VALID, ...change });
  expect([status, json.code]).toEqual([422, 'invalid_request']);
  expect(json.errors).toEqual([{ pointer, detail: expect.any(String) }]);
  expect(text).not.toMatch(/ada@/);
  await expectNoRequest();
});

test.each([
  ['unknown', randomUUID()],
  ['no uuid', 'x'],
  ['almost a uuid', `${randomUUID()}0`],
  ['a NUL', '%00'],
])('an id that is %s gets 404', async (_what, id) => {
  const { status, json } = await run(id);
  expect([status, json.code]).toEqual([404, 'not_found']);
});

test.each([
  [400, '{', {}],
  [413, JSON.stringify({ ...VALID, more: 'x'.repeat(20_000) }), {}],
  [415, '{}', { 'content-type': 'text/plain' }],
])('a request gets %i if its body cannot be read', async (status, body, headers) => {
  expect((await requestErasure(body, { ...admin, ...headers })).status).toBe(status);
  expect((await run(randomUUID(), { ...admin, ...headers }, body)).status).toBe(status);
  await expectNoRequest();
});

test('requests get 500 if a table is missing and 503 if it is locked, and nothing is erased in part', async () => {
  const license_id = await sell(service, 'whole@example.com', 'whole');
  const { id } = await requestAsHolder('whole@example.com');
  const listing = () => service.call('GET', ERASURES, undefined, support);
  for (const status of [500, 503]) {
    const withBrokenTable = status === 500 ? whileGone : whileLocked;
    expect((await withBrokenTable(service, 'erasure_request', listing)).status).toBe(status);
    expect((await withBrokenTable(service, 'erasure_request', () => requestErasure(VALID))).status).toBe(
      status,
    );
    expect((await withBrokenTable(service, 'activation', () => run(id))).status).toBe(status);
  }
  expect(await findRequest(service, id)).toMatchObject({ state: 'waiting', email: 'whole@example.com' });
  expect(await service.sql('select email from license where id = $1', [license_id])).toEqual([
    { email: 'whole@example.com' },
  ]);
});

test('the tests of this file have seen every documented response', () => {
  expect(unseenResponses(/ \/support\/api\/erasures/)).toEqual([]);
});
