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
  await open?.computer.close();
});

/** After the year the service really answers stop: it is obeyed, and lifted only by a call of the user. */
async function endOf({ computer }: Year): Promise<void> {
  const { remote, attempts } = computer;
  const heartbeats = () => attempts.filter(({ path }) => path !== '/v1/manifest').length;
  const detail = 'The purchase of this license was refunded, which ended it.';
  remote.stop = { code: 'license_refunded', detail };
  await computer.pass(13 * HOUR);
  const stopped = { kind: 'stopped', reason: 'license_refunded', detail, extras: {} };
  expect(computer.client.status).toEqual(stopped);
  const made = heartbeats();
  await computer.pass(3 * DAY);
  expect(heartbeats()).toBe(made);
  expect(await computer.restart()).toEqual(stopped);
  expect(heartbeats()).toBe(made + 1);
  remote.stop = undefined;
  expect((await computer.retry()).kind).toBe('running');
}

describe('a year with a service that misbehaves', () => {
  test.each(seeds)(
    'stops no paying client, reports nothing and overloads no service (MOORING_SEED=%i)',
    async (seed) => {
      const hostname = jest.spyOn(os, 'hostname').mockReturnValue(PLANT);
      const year = await Year.begin(seed);
      open = year;
      await year.live(365);
      await year.finish();
      expect(year.broken).toEqual([]);

      const { computer, checks, counts } = year;
      const wire = computer.remote.received.map(({ headers, raw }) => JSON.stringify(headers) + raw);
      expect(wire.filter((text) => text.includes(PLANT))).toEqual([]);
      expect(hostname).not.toHaveBeenCalled();
      const named = computer.remote.received.filter(({ raw }) => raw.includes(KEY) || raw.includes(EMAIL));
      expect(new Set(named.map(({ path }) => path))).toEqual(new Set(['/v1/activate']));
      for (const secret of [KEY, EMAIL, MACHINE_ID, 'eyJ', 'Studio', PLANT])
        expect(computer.log.filter((line) => line.includes(secret))).toEqual([]);
      expect(computer.remote.activations).toBe(1);

      const offers = checks.flatMap((check) => (check.available ? [check.offer.version] : []));
      expect(offers).not.toContain(BAD_VERSION);
      if (seed === EVENTFUL) {
        expect(offers.length).toBeGreaterThan(20);
        expect(computer.attempts.length).toBeGreaterThan(700);
        expect(Math.min(...Object.values(counts), year.crashesSent)).toBeGreaterThan(0);
      }

      await endOf(year);
    },
  );
});
