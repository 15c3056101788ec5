import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { randomInt } from 'node:crypto';
import os from 'node:os';
import { DAY, EMAIL, HOUR, KEY, MACHINE_ID } from './harness.js';
import { BAD_VERSION } from './year-faults.js';
import { PLANT, Year } from './year.js';

// MOORING_SEED=… repeats a year; a failure names it.
const SEED = process.env['MOORING_SEED'];
/** A year that is known to be full of events: one in which nothing happened would prove nothing. */
const EVENTFUL = 41;
const seeds = SEED ? [Number(SEED)] : [EVENTFUL, randomInt(2 ** 31)];

let open: Year | undefined;
afterEach(async () => {
  jest.restoreAllMocks();
  await open?.desk.close();
});

/** After the year the service truly says stop: for once it is obeyed, and lifted only where somebody asks. */
async function endOf({ desk }: Year): Promise<void> {
  const { remote, attempts } = desk;
  const heartbeats = () => attempts.filter(({ path }) => path !== '/v1/manifest').length;
  const detail = 'The purchase of this license was refunded, which ended it.';
  remote.stop = { code: 'license_refunded', detail };
  await desk.pass(13 * HOUR);
  const stopped = { kind: 'stopped', reason: 'license_refunded', detail, extras: {} };
  expect(desk.client.status).toEqual(stopped);
  const made = heartbeats();
  await desk.pass(3 * DAY);
  expect(heartbeats()).toBe(made);
  expect(await desk.restart()).toEqual(stopped);
  expect(heartbeats()).toBe(made + 1);
  remote.stop = undefined;
  expect((await desk.retry()).kind).toBe('running');
}

describe('a year with a service that misbehaves', () => {
  test.each(seeds)(
    'stops nobody who paid, tells nothing and hammers nobody (MOORING_SEED=%i)',
    async (seed) => {
      const hostname = jest.spyOn(os, 'hostname').mockReturnValue(PLANT);
      const year = await Year.begin(seed);
      open = year;
      await year.live(365);
      await year.finish();
      expect(year.broken).toEqual([]);

      const { desk, checks, counts } = year;
      const wire = desk.remote.received.map(({ headers, raw }) => JSON.stringify(headers) + raw);
      expect(wire.filter((text) => text.includes(PLANT))).toEqual([]);
      expect(hostname).not.toHaveBeenCalled();
      const named = desk.remote.received.filter(({ raw }) => raw.includes(KEY) || raw.includes(EMAIL));
      expect(new Set(named.map(({ path }) => path))).toEqual(new Set(['/v1/activate']));
      for (const secret of [KEY, EMAIL, MACHINE_ID, 'eyJ', 'Studio', PLANT])
        expect(desk.log.filter((line) => line.includes(secret))).toEqual([]);
      expect(desk.remote.seats).toBe(1);

      const offers = checks.flatMap((check) => (check.available ? [check.offer.version] : []));
      expect(offers).not.toContain(BAD_VERSION);
      if (seed === EVENTFUL) {
        expect(offers.length).toBeGreaterThan(20);
        expect(desk.attempts.length).toBeGreaterThan(700);
        expect(Math.min(...Object.values(counts), year.crashesSent)).toBeGreaterThan(0);
      }

      await endOf(year);
    },
  );
});
