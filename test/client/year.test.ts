import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { randomInt } from 'node:crypto';
import os from 'node:os';
import { DAY, EMAIL, HOUR, KEY, MACHINE_ID } from './harness.js';
import { INVALID_VERSION } from './year-faults.js';
import { HOSTNAME_CANARY, Year } from './year.js';

// MOORING_SEED=… repeats a year. The title of a failed test contains its seed.
const SEED = process.env['MOORING_SEED'];
/** The seed of a year with enough events for the checks of their numbers; a random year may have fewer. */
const EVENTFUL_SEED = 41;
const seeds = SEED ? [Number(SEED)] : [EVENTFUL_SEED, randomInt(2 ** 31)];

let current: Year | undefined;
afterEach(async () => {
  jest.restoreAllMocks();
  await current?.computer.close();
});

/** Lets the service stop the license: the application obeys, and calls again only after a restart or a retry of the user. */
async function expectStopIsObeyed({ computer }: Year): Promise<void> {
  const { remote, attempts } = computer;
  const licenseCalls = () => attempts.filter(({ path }) => path !== '/v1/manifest').length;
  const detail = 'The purchase of this license was refunded, which ended it.';
  remote.stop = { code: 'license_refunded', detail };
  await computer.advanceTime(13 * HOUR);
  const stopped = { kind: 'stopped', reason: 'license_refunded', detail, extras: {} };
  expect(computer.client.status).toEqual(stopped);
  const made = licenseCalls();
  await computer.advanceTime(3 * DAY);
  expect(licenseCalls()).toBe(made);
  expect(await computer.restart()).toEqual(stopped);
  expect(licenseCalls()).toBe(made + 1);
  remote.stop = undefined;
  expect((await computer.retry()).kind).toBe('running');
}

describe('a year with a service that misbehaves', () => {
  test.each(seeds)(
    'stops no paying client, reveals no personal data and overloads no service (MOORING_SEED=%i)',
    async (seed) => {
      const hostname = jest.spyOn(os, 'hostname').mockReturnValue(HOSTNAME_CANARY);
      const year = await Year.begin(seed);
      current = year;
      await year.simulate(365);
      await year.finish();
      expect(year.violations).toEqual([]);

      const { computer, checks, counts } = year;
      const wire = computer.remote.received.map(({ headers, raw }) => JSON.stringify(headers) + raw);
      expect(wire.filter((text) => text.includes(HOSTNAME_CANARY))).toEqual([]);
      expect(hostname).not.toHaveBeenCalled();
      const named = computer.remote.received.filter(({ raw }) => raw.includes(KEY) || raw.includes(EMAIL));
      expect(new Set(named.map(({ path }) => path))).toEqual(new Set(['/v1/activate']));
      // Each token begins with `eyJ`.
      for (const secret of [KEY, EMAIL, MACHINE_ID, 'eyJ', 'Studio', HOSTNAME_CANARY])
        expect(computer.log.filter((line) => line.includes(secret))).toEqual([]);
      expect(computer.remote.activations).toBe(1);

      const offers = checks.flatMap((check) => (check.available ? [check.offer.version] : []));
      expect(offers).not.toContain(INVALID_VERSION);
      if (seed === EVENTFUL_SEED) {
        expect(offers.length).toBeGreaterThan(20);
        expect(computer.attempts.length).toBeGreaterThan(700);
        expect(Math.min(...Object.values(counts), year.crashesSent)).toBeGreaterThan(0);
      }

      await expectStopIsObeyed(year);
    },
  );
});
