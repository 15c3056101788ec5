import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createHmac } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { DAY_MS } from '../../src/core/clock.js';
import { resendEvents } from '../../src/events/event-selection.js';
import { EVENT_TIMES, MAX_ATTEMPTS } from '../../src/events/outgoing-event.js';
import { WarningsService } from '../../src/monitoring/warnings/warnings.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { AUDIT_CONTEXT, FakeClock, NOW, Service, HOUR_MS } from '../support/harness.js';
import { listen, stopListening } from '../support/listen.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { until } from '../support/until.js';
import { Glue } from '../purchases/glue.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { endPauses, FIRST_PAUSE_MS, pollFast, startSending, untilSent, type Sending } from './harness.js';
import type { ReceivedEvent } from './receiver.js';

pollFast();
let sending: Sending;
let service: Service;
let terminal: Terminal;
beforeAll(async () => {
  sending = await startSending();
  service = sending.service;
  terminal = Terminal.beside(service);
});
beforeEach(() => {
  sending.receiver.received.length = 0;
  sending.receiver.answering = () => 204;
  service.clock.set(NOW);
});
afterEach(() => service.sql('delete from outgoing_event'));

const mooring = (...args: string[]) => terminal.run(args);
const ofLicense = (license_id: string) => (event: Pick<ReceivedEvent, 'data'>) =>
  event.data['license_id'] === license_id;
const typesOf = (events: readonly ReceivedEvent[]) => events.map(({ type }) => type);
const firstEventOf = async (license_id: string) =>
  (
    await service.sql<{
      attempts: number;
      last_error: string | null;
      next_attempt_at: Date | null;
      pause_ms: number;
      delivered_at: Date | null;
      given_up_at: Date | null;
    }>(
      `select *, extract(epoch from next_attempt_at - clock_timestamp())::float8 * 1000 as pause_ms
       from outgoing_event where license_id = $1 order by position limit 1`,
      [license_id],
    )
  )[0]!;
/** Waits until this many failed attempts of a license's first event are stored. @returns the row of the event */
async function untilFailed(license_id: string, attempts: number) {
  await until(async () => (await firstEventOf(license_id)).attempts === attempts);
  return firstEventOf(license_id);
}

/**
 * Lets the attempts of a license's first event fail, until only the last one is left, and ends each pause.
 * @returns the sum of the pauses
 */
async function failUntilLastAttempt(license_id: string): Promise<number> {
  const { attempts: first } = await firstEventOf(license_id);
  let sum = 0;
  for (let attempts = Math.max(first, 1); attempts < MAX_ATTEMPTS; attempts += 1) {
    const { given_up_at, pause_ms } = await untilFailed(license_id, attempts);
    expect(given_up_at).toBeNull();
    sum += pause_ms;
    await endPauses(service);
  }
  return sum;
}

test('an event waits for the previous event of its license, and not for events of other licenses', async () => {
  const { receiver } = sending;
  const blocked = await service.issue({ email: 'blocked@example.com' });
  await untilSent(service);
  receiver.answering = (event) => (ofLicense(blocked.license_id)(event) ? 500 : 204);
  await service.activate(blocked, 'one');
  await service.activate(blocked, 'two');
  await service.setLicense(blocked.license_id, { staff_status: 'revoked' });
  const other = await service.issue({ email: 'other@example.com' });
  await service.activate(other, 'one');
  await receiver.until(2, ofLicense(other.license_id));
  const attemptsAfterIssue = (await receiver.until(2, ofLicense(blocked.license_id))).slice(1);
  expect(new Set(typesOf(attemptsAfterIssue))).toEqual(new Set(['activation.created']));
  receiver.answering = () => 204;
  await endPauses(service);
  await untilSent(service);
  const accepted = receiver.accepted.filter(ofLicense(blocked.license_id));
  expect(typesOf(accepted)).toEqual([
    'license.issued',
    'activation.created',
    'license.limit_reached',
    'license.ended',
  ]);
});

test('a failed event is repeated with the same id and bytes and a new signature, after increasing pauses', async () => {
  const { receiver } = sending;
  receiver.answering = () => 503;
  const { license_id } = await service.issue();
  await untilFailed(license_id, 1);
  receiver.answering = (event) => (ofLicense(license_id)(event) ? 503 : 204);
  // Rounds that send events of other licenses do not repeat this event early.
  for (let count = 0; count < 3; count += 1) {
    const other = await service.issue();
    await receiver.until(1, ofLicense(other.license_id));
  }
  expect(receiver.received.filter(ofLicense(license_id))).toHaveLength(1);
  const pauses: number[] = [];
  for (let attempts = 1; attempts <= 9; attempts += 1) {
    const { pause_ms, last_error } = await untilFailed(license_id, attempts);
    expect(last_error).toBe('HTTP status 503');
    pauses.push(pause_ms);
    service.clock.advance(pause_ms);
    await endPauses(service);
  }
  [1, 3, 9, 18, 18, 18, 18, 18, 18].forEach((factor, index) => {
    // A part of each pause was over when it was read.
    expect(pauses[index]).toBeGreaterThan(0.7 * factor * FIRST_PAUSE_MS);
    expect(pauses[index]).toBeLessThanOrEqual(1.2 * factor * FIRST_PAUSE_MS);
  });
  const attempts = await receiver.until(9, ofLicense(license_id));
  const distinct = (part: (event: ReceivedEvent) => unknown) => new Set(attempts.map(part)).size;
  expect([distinct(({ id }) => id), distinct(({ body }) => body)]).toEqual([1, 1]);
  expect(distinct(({ headers }) => headers['webhook-signature'])).toBeGreaterThanOrEqual(9);
  expect(attempts[0]).toMatchObject({ type: 'license.issued', timestamp: NOW, data: { license_id } });
});

test('after about four days an event is given up with a warning, the next event is sent, and commands list and resend the first', async () => {
  const { receiver } = sending;
  receiver.answering = ({ type }) => (type === 'license.issued' ? 500 : 204);
  const license = await service.issue();
  await service.activate(license, 'one');
  const warnings = async () => {
    const monitored = service.app.get(WarningsService);
    return monitored.derive(await monitored.readState()).filter((each) => /events/i.test(each));
  };
  for (let attempts = 1; attempts <= 3; attempts += 1) {
    await untilFailed(license.license_id, attempts);
    await endPauses(service);
  }
  await untilFailed(license.license_id, 4);
  expect(await warnings()).toEqual([
    'Undelivered events: 1. The newest failure: HTTP status 500. Not tried yet: 1.',
  ]);
  await failUntilLastAttempt(license.license_id);
  await untilSent(service);
  expect((await firstEventOf(license.license_id)).given_up_at).not.toBeNull();
  expect(typesOf(receiver.accepted)).toEqual(['activation.created']);
  expect(await warnings()).toEqual([
    'Events given up after four days: 1. mooring events resend --given-up sends them again.',
  ]);
  const { json: status } = await mooring('status', '--json');
  expect(status.events).toEqual({
    is_recording: true,
    waiting: 0,
    failing: 0,
    given_up: 1,
    attempts: 0,
    reason: 'HTTP status 500',
    oldest_waiting: null,
  });
  const { json: listed } = await mooring('events', 'list', '--state', 'given_up', '--json');
  expect(listed).toMatchObject([
    { type: 'license.issued', state: 'given_up', last_error: 'HTTP status 500' },
  ]);
  receiver.answering = () => 204;
  expect((await mooring('events', 'resend', '--given-up')).stdout).toMatch(/^Events to be sent again: 1\./);
  await untilSent(service);
  expect(typesOf(receiver.accepted)).toEqual(['activation.created', 'license.issued']);
  expect(await service.sql(`select actor, change from audit_event where action = 'events.resend'`)).toEqual([
    { actor: 'cli', change: { events: 1 } },
  ]);
});

test('an event that its last attempt delivers is not given up', async () => {
  const { receiver } = sending;
  receiver.answering = () => 503;
  const { license_id } = await service.issue();
  await untilFailed(license_id, 1);
  await service.sql('update outgoing_event set attempts = $1', [MAX_ATTEMPTS - 1]);
  receiver.answering = () => 204;
  await endPauses(service);
  await untilSent(service);
  const { delivered_at, given_up_at, next_attempt_at } = await firstEventOf(license_id);
  expect([delivered_at, given_up_at, next_attempt_at]).toEqual([service.clock.now(), null, null]);
});

test('the status reports the reason of a failing event, also if a later event was given up', async () => {
  const { receiver } = sending;
  const delivered = await service.issue();
  await untilSent(service);
  receiver.answering = () => 410;
  const givenUp = await service.issue();
  await failUntilLastAttempt(givenUp.license_id);
  await untilSent(service);
  expect((await firstEventOf(givenUp.license_id)).given_up_at).not.toBeNull();
  receiver.answering = () => 503;
  // The command would use the clock of the machine, and not that of the service.
  const { license_id } = delivered;
  const now = service.clock.now();
  expect(await resendEvents(service.app.get(DataSource), { license_id }, AUDIT_CONTEXT, now)).toBe(1);
  await untilFailed(license_id, 1);
  const { json: status } = await mooring('status', '--json');
  expect(status.events).toMatchObject({ failing: 1, given_up: 1, reason: 'HTTP status 503' });
});

test('an event that waited for days before its first attempt is repeated for about four days, like any other', async () => {
  const { receiver } = sending;
  receiver.answering = () => 503;
  const { license_id } = await service.issue();
  await service.sql(`update outgoing_event set queued_at = queued_at - interval '20 days'`);
  const period = await failUntilLastAttempt(license_id);
  expect(period).toBeGreaterThan(3.2 * DAY_MS);
  expect(period).toBeLessThan(5 * DAY_MS);
});

test('instances whose clocks differ by days repeat a failed event only after its pause', async () => {
  const { receiver } = sending;
  const behind = await Service.beside(service, {
    clock: new FakeClock(new Date(Date.parse(NOW) - 5 * DAY_MS)),
    environment: receiver.settings,
  });
  try {
    receiver.answering = () => 503;
    const failing = await service.issue();
    await until(async () => (await firstEventOf(failing.license_id)).attempts > 0);
    receiver.answering = (event) => (ofLicense(failing.license_id)(event) ? 503 : 204);
    // An instance that sends a later event has looked for due events after the failure. The clocks of the two instances differ, so
    // the time of a signature identifies the instance.
    for (const instances = new Set<unknown>(); instances.size < 2;) {
      const other = await service.issue();
      const [event] = await receiver.until(1, ofLicense(other.license_id));
      instances.add(event!.headers['webhook-timestamp']);
    }
    expect(receiver.received.filter(ofLicense(failing.license_id))).toHaveLength(1);
  } finally {
    await behind.close();
  }
});

test('events that a clock of the database which was ahead delayed are sent after its correction', async () => {
  const { receiver } = sending;
  receiver.answering = () => 500;
  const license = await service.issue();
  await untilFailed(license.license_id, 1);
  receiver.answering = () => 204;
  // The clock of the database cannot be set, so the planned time is moved. After a clock that was four hours ahead is corrected,
  // an attempt that it planned is due four hours later.
  await service.sql(`update outgoing_event set next_attempt_at = next_attempt_at + interval '4 hours'`);
  await service.activate(license, 'one');
  await receiver.until(1, ({ type }) => type === 'activation.created');
  const accepted = receiver.accepted.filter(ofLicense(license.license_id));
  expect(typesOf(accepted)).toEqual(['license.issued', 'activation.created']);
  await untilSent(service);
});

test('delivered events are sent again by id, license or time, in their order and with their ids', async () => {
  const { receiver } = sending;
  const [one, two] = [await service.issue(), await service.issue()];
  service.clock.advance(HOUR_MS);
  await service.activate(one, 'one');
  await untilSent(service);
  const first = receiver.received.splice(0);
  const idsOf = (events: readonly ReceivedEvent[]) =>
    events.filter(ofLicense(one.license_id)).map(({ id }) => id);
  expect((await mooring('events', 'resend', '--license', one.license_id)).code).toBe(0);
  await untilSent(service);
  expect(idsOf(receiver.received)).toEqual(idsOf(first));
  expect(receiver.received.some(ofLicense(two.license_id))).toBe(false);
  receiver.received.length = 0;
  const since = service.clock.now().toISOString();
  expect((await mooring('events', 'resend', '--since', since)).code).toBe(0);
  await untilSent(service);
  expect(typesOf(receiver.received)).toEqual(['activation.created']);
  receiver.received.length = 0;
  await mooring('events', 'resend', first[0]!.id);
  await untilSent(service);
  expect(receiver.received.map(({ id }) => id)).toEqual([first[0]!.id]);
});

test.each([
  [['resend'], 2, 'Name the events to send again: ids, --since, --license or --given-up.'],
  [['resend', 'x'], 2, 'Each argument must be an id, such as 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6.'],
  [['resend', '--since', '2030-01-01'], 1, 'No recorded event was selected: `events list` shows them.'],
  [['list', '--license', 'x'], 2, '--license must be an id, such as 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6.'],
])('mooring events %j has the exit code %i and prints one sentence', async (args, code, sentence) => {
  const run = await mooring('events', ...args);
  expect([run.code, run.stderr.trim()]).toEqual([code, sentence]);
});

test('a redirect is not followed, and each status outside 2xx is a failure', async () => {
  const { receiver } = sending;
  const statuses = [307, 301, 400, 410, 429];
  receiver.answering = () => statuses[0]!;
  const { license_id } = await service.issue();
  for (let attempts = 1; statuses.length > 0; attempts += 1) {
    expect((await untilFailed(license_id, attempts)).last_error).toBe(`HTTP status ${statuses.shift()}`);
    if (statuses.length === 0) receiver.answering = () => 200;
    await endPauses(service);
  }
  await untilSent(service);
  expect(receiver.received).toHaveLength(6);
});

test('a receiver that does not answer, sends an endless answer or closes the connection does not block an instance', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200).write('endless');
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const other = await Service.start({
    environment: { EVENTS_URL: url, EVENTS_SECRET: sending.receiver.secret },
  });
  try {
    await other.issue();
    await untilSent(other);
    server.removeAllListeners('request').on('request', () => undefined);
    const { attemptMs } = EVENT_TIMES;
    EVENT_TIMES.attemptMs = 50;
    await other.issue();
    const failures = async () =>
      other.sql<{ last_error: string }>('select last_error from outgoing_event where last_error is not null');
    while ((await failures()).length === 0);
    expect(await failures()).toEqual([{ last_error: 'no answer in time' }]);
    EVENT_TIMES.attemptMs = attemptMs;
    server.removeAllListeners('request').on('request', ({ socket }) => socket.destroy());
    await endPauses(other);
    while ((await failures())[0]?.last_error === 'no answer in time');
    const [{ last_error: reason }] = (await failures()) as [{ last_error: string }];
    // The code depends on whether the receiver had read the whole request.
    expect(reason).toMatch(/^no answer \((UND_ERR_SOCKET|ECONNRESET)\)$/);
    stopListening(server);
    await endPauses(other);
    while ((await failures())[0]?.last_error === reason);
    expect(await failures()).toEqual([{ last_error: 'no answer (ECONNREFUSED)' }]);
  } finally {
    await other.close();
  }
});

test('no log line contains the URL of the receiver, the id of a license or a secret', async () => {
  sending.receiver.answering = () => 500;
  const { license_id } = await service.issue();
  await untilFailed(license_id, 1);
  const lines = service.logged.filter((line) => line.includes('event not delivered'));
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({
    level: 40,
    msg: 'event not delivered',
    type: 'license.issued',
    attempts: 1,
    reason: 'HTTP status 500',
  });
  const log = service.logged.join('');
  const { url, secret } = sending.receiver;
  for (const text of [license_id, new URL(url).host, 'canary-url-secret', secret.slice('whsec_'.length)])
    expect(log).not.toContain(text);
});

test('a failed round is logged unless its connection was cut, and later rounds send the events', async () => {
  const countFailures = () => service.logged.filter((line) => line.includes('events not sent')).length;
  await service.sql('alter table outgoing_event rename to moved_event');
  await until(async () => countFailures() > 0);
  await service.sql('alter table moved_event rename to outgoing_event');
  const first = await service.issue();
  await sending.receiver.until(1, ofLicense(first.license_id));
  await untilSent(service);
  const failures = countFailures();
  const lock = await OpenTransaction.begin(service, 'lock table outgoing_event in exclusive mode');
  await lock.untilWaiting();
  await service.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where wait_event_type = 'Lock' and datname = current_database()`,
  );
  await lock.commit();
  const second = await service.issue();
  await sending.receiver.until(1, ofLicense(second.license_id));
  expect(countFailures()).toBe(failures);
});

test('while the secret is replaced, each event is signed with the old secret and with the new one', async () => {
  const { receiver } = sending;
  const old = Buffer.alloc(24, 'old secret').toString('base64');
  const withBoth = await Service.start({
    environment: { EVENTS_URL: receiver.url, EVENTS_SECRET: `${old} ${receiver.secret}` },
  });
  await withBoth.issue();
  // The receiver has verified the signature with the new secret.
  const [event] = await receiver.until(1);
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures } = event!.headers;
  const signed = createHmac('sha256', Buffer.from(old, 'base64'))
    .update(`${id}.${at}.${event!.body}`)
    .digest('base64');
  expect(String(signatures).split(' ')).toHaveLength(2);
  expect(String(signatures).split(' ')[0]).toBe(`v1,${signed}`);
});

test('the receiver of docs/events.md prints each event once and refuses a wrong signature', async () => {
  const { secret } = sending.receiver;
  const receiver = await Glue.start('events', { EVENTS_SECRET: secret });
  const settings = { EVENTS_URL: `http://127.0.0.1:${receiver.port}/`, EVENTS_SECRET: secret };
  // The library of the receiver compares the time of the signature with the clock of the system.
  const other = await Service.start({ clock: new FakeClock(new Date()), environment: settings });
  const { license_id } = await other.issue();
  await untilSent(other);
  await other.sql('update outgoing_event set delivered_at = null');
  await untilSent(other);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { 'webhook-id': 'x', 'webhook-timestamp': timestamp, 'webhook-signature': 'v1,x' };
  expect(await receiver.send('{}', headers)).toBe(401);
  expect(receiver.output).toBe(`license.issued { license_id: '${license_id}' }\n`);
});

test('the receiver of docs/events.md survives a connection that ends before the end of its request', async () => {
  const receiver = await Glue.start('events', { EVENTS_SECRET: sending.receiver.secret });
  const socket = connect(receiver.port, '127.0.0.1').resume();
  socket.end('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{');
  await once(socket, 'close');
  expect(await receiver.send('{}', {})).toBe(401);
});

test('two instances together send each event once, and the events of each license in their order', async () => {
  const { receiver } = sending;
  const second = await Service.beside(service, {
    environment: receiver.settings,
  });
  const licenses = await Promise.all(
    Array.from({ length: 20 }, () => service.issue({ machines_allowed: 3 })),
  );
  await Promise.all(
    licenses.flatMap((license) =>
      ['a', 'b', 'c'].map((machine, index) => (index % 2 ? service : second).activate(license, machine)),
    ),
  );
  await untilSent(service);
  expect(receiver.received).toHaveLength(80);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(80);
  const inOrder = await service.sql<{ id: string }>('select id from outgoing_event order by position');
  for (const { license_id } of licenses) {
    const received = receiver.received.filter(ofLicense(license_id)).map(({ id }) => id);
    expect(received).toEqual(inOrder.map(({ id }) => id).filter((id) => received.includes(id)));
  }
  await second.close();
});

test('an instance that shuts down abandons an attempt without counting it, another repeats it, and no delivered event', async () => {
  const { receiver } = sending;
  const stopping = await startSending();
  const [unanswered, answered] = [await stopping.service.issue(), await stopping.service.issue()];
  await untilSent(stopping.service);
  const isUnanswered = ofLicense(unanswered.license_id);
  const isAnswered = ofLicense(answered.license_id);
  stopping.receiver.answering = (event) => (isUnanswered(event) ? null : 204);
  // Both events become due in one statement, so one round sends both.
  const dataSource = stopping.service.app.get(DataSource);
  await resendEvents(dataSource, {}, AUDIT_CONTEXT, stopping.service.clock.now());
  const [abandoned] = await stopping.receiver.until(2, isUnanswered);
  await stopping.receiver.until(2, isAnswered);
  // The next instance uses the same database. It cannot claim the events while the first instance is sending them.
  const next = await Service.beside(stopping.service, {
    environment: receiver.settings,
  });
  await stopping.service.app.close();
  const end = JSON.parse(stopping.service.logged.find((line) => line.includes('events ended'))!);
  // `milliseconds` is a duration and not a time, so it is below the age of this process.
  expect(end.milliseconds).toBeLessThan(performance.now());
  // `done` counts only events that are delivered during the shutdown. A slow machine stores this one after the line.
  expect([0, 1]).toContain(end.done);
  expect(stopping.service.logged.join('')).not.toContain('event not delivered');
  const [event] = await receiver.until(1, isUnanswered);
  expect(event!.id).toBe(abandoned!.id);
  await untilSent(next);
  expect(receiver.received.filter(isAnswered)).toEqual([]);
  const attempts = await next.sql('select attempts from outgoing_event');
  expect(attempts).toEqual([{ attempts: 0 }, { attempts: 0 }]);
});

test('delivered events are kept for 28 days and deleted within 30', async () => {
  const { license_id } = await service.issue();
  await untilSent(service);
  const retention = service.app.get(RetentionService);
  const count = async () =>
    (await service.sql('select from outgoing_event where license_id = $1', [license_id])).length;
  service.clock.advance(28 * DAY_MS);
  await retention.run();
  expect(await count()).toBe(1);
  service.clock.advance(2 * DAY_MS);
  await retention.run();
  expect(await count()).toBe(0);
});

test('a warning says that events are recorded without EVENTS_URL, until mooring events stop ends the recording', async () => {
  const recording = await startSending();
  const withoutUrl = await Service.beside(recording.service);
  await recording.service.app.close();
  const license = await withoutUrl.issue();
  const warning =
    'Events are recorded and not sent (1 waiting), because EVENTS_URL is not set: set it, or run mooring events stop.';
  const warnings = withoutUrl.app.get(WarningsService);
  expect(warnings.derive(await warnings.readState())).toContain(warning);
  const other = Terminal.beside(withoutUrl);
  const refused = await other.run(['events', 'stop'], { env: recording.receiver.settings });
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/^Remove EVENTS_URL and EVENTS_SECRET first/),
  ]);
  expect((await other.run(['events', 'stop', '--json'])).json).toEqual({ events: 1 });
  await withoutUrl.activate(license, 'one');
  expect(await withoutUrl.sql('select from outgoing_event')).toEqual([]);
  expect(warnings.derive(await warnings.readState())).not.toContain(warning);
  await withoutUrl.app.close();
  expect(withoutUrl.logged.join('')).not.toContain('events ended');
});

test('mooring events stop turns the recording off before it deletes, which may take long', async () => {
  const recording = await startSending();
  await recording.service.issue();
  await untilSent(recording.service);
  const other = Terminal.beside(recording.service);
  const transaction = await OpenTransaction.begin(recording.service, 'select from outgoing_event for update');
  const stopped = other.run(['events', 'stop', '--json']);
  const isOff = async () => (await recording.service.sql('select from event_recording')).length === 0;
  await Promise.race([until(isOff), stopped]);
  await recording.service.issue();
  await transaction.commit();
  expect((await stopped).json).toEqual({ events: 1 });
  expect(await recording.service.sql('select from outgoing_event')).toEqual([]);
  await recording.service.app.close();
});
