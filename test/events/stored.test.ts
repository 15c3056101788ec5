import { expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { startRecording, stopRecording } from '../../src/events/event-recording.js';
import { listEvents, resendEvents, type EventSelection } from '../../src/events/event-selection.js';
import { AUDIT_CONTEXT, NOW, Service } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { waitingLocks } from '../support/tables.js';
import { until } from '../support/until.js';

// These tests call the functions of `mooring events` in this process. Without EVENTS_URL, no instance sends the events.

const LATER = new Date('2026-11-21T13:00:00Z');
const service = await Service.start();
const dataSource = service.app.get(DataSource);
const now = service.clock.now();
const recordedSince = () => service.sql('select since from event_recording');
const lockLicenses = () => OpenTransaction.begin(service, 'lock table license in row exclusive mode');

test('the recording begins when a pause of the writers gives the lock, and writers do not wait for long', async () => {
  const writer = await lockLicenses();
  const started = startRecording(dataSource, now);
  await writer.untilWaiting(started);
  // The statement ends its wait, and is repeated after a pause.
  await until(async () => (await service.sql(waitingLocks('license'))).length === 0);
  await writer.commit();
  await started;
  expect(await recordedSince()).toEqual([{ since: now }]);
});

test('a later start changes nothing, and waits for no writer', async () => {
  const writer = await lockLicenses();
  await startRecording(dataSource, LATER);
  await writer.commit();
  expect(await recordedSince()).toEqual([{ since: now }]);
});

test('events are listed newest first, and a waiting event with the time of its next attempt', async () => {
  const [one, two, three] = [await service.issue(), await service.issue(), await service.issue()];
  const change = (assignments: string, { license_id }: { license_id: string }) =>
    service.sql(`update outgoing_event set ${assignments} where license_id = $1`, [license_id]);
  await change(`next_attempt_at = '2026-11-20T14:00:00Z', attempts = 2, last_error = 'HTTP status 500'`, one);
  await change(`delivered_at = occurred_at`, two);
  await change(`next_attempt_at = '2026-11-20T15:00:00Z', given_up_at = occurred_at, attempts = 40`, three);
  const rows = await service.sql<{ id: string }>('select id from outgoing_event order by position desc');
  const listed = (await listEvents(dataSource, {}, 50)).map(({ data, ...event }) => ({
    ...event,
    license_id: data['license_id'],
  }));
  const common = { type: 'license.issued', occurred_at: NOW };
  expect(listed).toEqual([
    {
      ...common,
      id: rows[0]!.id,
      license_id: three.license_id,
      state: 'given_up',
      attempts: 40,
      last_error: null,
      next_attempt_at: null,
    },
    {
      ...common,
      id: rows[1]!.id,
      license_id: two.license_id,
      state: 'delivered',
      attempts: 0,
      last_error: null,
      next_attempt_at: null,
    },
    {
      ...common,
      id: rows[2]!.id,
      license_id: one.license_id,
      state: 'waiting',
      attempts: 2,
      last_error: 'HTTP status 500',
      next_attempt_at: '2026-11-20T14:00:00Z',
    },
  ]);
  const idsOf = async (selection: EventSelection, limit = 50) =>
    (await listEvents(dataSource, selection, limit)).map(({ id }) => id);
  const [last, middle, first] = rows.map(({ id }) => id);
  expect(await idsOf({}, 2)).toEqual([last, middle]);
  expect(await idsOf({ ids: [first!, last!] })).toEqual([last, first]);
  expect(await idsOf({ license_id: two.license_id })).toEqual([middle]);
  expect(await idsOf({ state: 'given_up' })).toEqual([last]);
  expect([await idsOf({ since: now }), await idsOf({ since: LATER })]).toEqual([[last, middle, first], []]);
});

test('an event that is sent again waits as a new one does, and a selection of none is not in the audit trail', async () => {
  expect(await resendEvents(dataSource, { state: 'given_up' }, AUDIT_CONTEXT, LATER)).toBe(1);
  expect(await resendEvents(dataSource, { state: 'given_up' }, AUDIT_CONTEXT, LATER)).toBe(0);
  const resent = `select given_up_at, delivered_at, last_error, attempts, next_attempt_at
    from outgoing_event where queued_at = $1`;
  expect(await service.sql(resent, [LATER])).toEqual([
    { given_up_at: null, delivered_at: null, last_error: null, attempts: 0, next_attempt_at: null },
  ]);
  expect(
    await service.sql(`select action, change, at from audit_event where action like 'events.%'`),
  ).toEqual([{ action: 'events.resend', change: { events: 1 }, at: LATER }]);
});

test('the end of the recording deletes all events, also if there are more than one statement deletes', async () => {
  await service.sql(
    `insert into outgoing_event (type, data, occurred_at, queued_at)
     select 'manifest.published', '{}', now(), now() from generate_series(1, 5000)`,
  );
  expect(await stopRecording(dataSource, AUDIT_CONTEXT, LATER)).toBe(5003);
  await service.issue();
  expect(await service.sql('select from outgoing_event')).toEqual([]);
  expect(await service.sql(`select actor, reason, at from audit_event where action = 'events.stop'`)).toEqual(
    [{ ...AUDIT_CONTEXT, at: LATER }],
  );
});
