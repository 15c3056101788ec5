import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { TimeUncertain } from '../../src/database/database-clock.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { AUDIT_CONTEXT, FakeClock, Service, HOUR_MS } from '../support/harness.js';

const YEAR_MS = 365 * DAY_MS;
const WARNING =
  'The clock of this machine has jumped ahead: nothing is deleted meanwhile. Check the time, then restart.';

// If a service and its database run on one machine, a jump changes both clocks, so they still agree. Here only the clock of the
// service jumps, but `FakeClock.agreesWith` is always true. So the service can detect only the jump itself.
let service: Service;
beforeEach(async () => void (service = await Service.start()));
afterEach(() => service.close());

const runRetention = () => service.app.get(RetentionService).run();
const readWarnings = async () => (await service.call('GET', '/health/ready')).json.warnings as string[];
const countEnded = async (instance = service) =>
  (await instance.sql('select from activation where ended_at is not null')).length;

/** Creates a license that ends in a hundred days, and one without expiry that has an active and a released machine. */
async function createLicenses() {
  const expires_at = new Date(service.clock.now().getTime() + 100 * DAY_MS);
  const expiring = await service.issue({ expires_at, on_expiry: 'stop' });
  const lasting = await service.issue({ email: 'bob@example.com', machines_allowed: 2 });
  const expiringToken = (await service.activate(expiring)).json.token as string;
  const lastingToken = (await service.activate(lasting, 'kept')).json.token as string;
  const { activation } = (await service.activate(lasting, 'released')).json;
  await service.sql(`update activation set ended_at = $2, ended_reason = 'released' where id = $1`, [
    activation.id,
    service.clock.now(),
  ]);
  return { expiring, expiringToken, lastingToken };
}

test('after the clocks of the service and the database jump by a year, nothing is deleted and no license is refused as expired', async () => {
  const { expiring, expiringToken, lastingToken } = await createLicenses();
  const suspended = await service.issue({ email: 'eve@example.com' });
  const suspendedToken = (await service.activate(suspended)).json.token as string;
  await service.setLicense(suspended.license_id, { staff_status: 'suspended' });
  await service.app.get(ErasureService).request('carol@example.com');
  service.clock.jump(YEAR_MS);

  await expect(runRetention()).rejects.toThrow(TimeUncertain);
  await expect(service.app.get(ErasureService).runDue(AUDIT_CONTEXT)).rejects.toThrow(TimeUncertain);
  expect(await countEnded()).toBe(1);
  expect(await service.sql('select from erasure_request where honoured_at is not null')).toEqual([]);
  for (const { status, json } of [await service.heartbeat(expiringToken), await service.activate(expiring)])
    expect([status, json.code, json.client_action]).toEqual([503, 'unavailable', 'retry']);
  await expect(service.app.get(ErasureService).request('dora@example.com')).rejects.toThrow('unavailable');
  expect(await readWarnings()).toContain(WARNING);
  // Responses that do not depend on an expiry are as before.
  expect((await service.heartbeat(lastingToken)).status).toBe(200);
  for (const { json } of [await service.heartbeat(suspendedToken), await service.activate(suspended)])
    expect(json.code).toBe('license_suspended');

  service.clock.jump(-YEAR_MS);
  expect(await readWarnings()).toEqual([]);
  expect((await service.heartbeat(expiringToken)).status).toBe(200);
  expect((await runRetention())!.deleted['activation']).toBeUndefined();
  expect(await countEnded()).toBe(1);
});

test('after a restart the service accepts the time of a clock that had jumped', async () => {
  const { expiringToken } = await createLicenses();
  // A released activation is deleted after 12 months.
  service.clock.jump(YEAR_MS + 2 * DAY_MS);
  await expect(runRetention()).rejects.toThrow(TimeUncertain);
  const restarted = await Service.beside(service, { clock: new FakeClock(service.clock.now()) });
  expect((await restarted.heartbeat(expiringToken)).json.code).toBe('license_expired');
  // The retention run at the start, which `Service.start` awaits, has deleted the released activation.
  expect(await countEnded(restarted)).toBe(0);
  await restarted.close();
});

test('the time after a jump by 8 hours, as after a computer slept, is accepted 8 hours later', async () => {
  service.clock.jump(8 * HOUR_MS);
  await expect(runRetention()).rejects.toThrow(TimeUncertain);
  service.clock.advance(8 * HOUR_MS - 1);
  expect(await readWarnings()).toEqual([WARNING]);
  service.clock.advance(1);
  expect(await readWarnings()).toEqual([]);
  expect((await runRetention())!.failed).toEqual([]);
});

test('a clock that is set by less than an hour at a time is accepted at once', async () => {
  for (const step of [59 * 60_000, -2_000, 30 * 60_000]) {
    service.clock.jump(step);
    expect((await runRetention())!.failed).toEqual([]);
    expect(await readWarnings()).toEqual([]);
    service.clock.advance(HOUR_MS);
  }
});
