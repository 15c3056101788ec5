import { describe, expect, test } from '@jest/globals';
import { Clock, DAY_MS, parseMoment, rfc3339, timesAsText, utcDay } from '../../src/core/clock.js';
import { isTimeCertain } from '../../src/database/database-clock.js';

test('the times of a row become text, and its other members stay', () => {
  const change = { until: '2027-01-04' };
  expect(timesAsText({ id: 'a', at: new Date('2027-01-04T10:30:00.999Z'), ended_at: null, change })).toEqual({
    id: 'a',
    at: '2027-01-04T10:30:00Z',
    ended_at: null,
    change,
  });
});

describe('a time that a person types', () => {
  test.each([
    ['2027-01-04', '2027-01-04T00:00:00Z'],
    ['2027-01-04T12:30:00Z', '2027-01-04T12:30:00Z'],
    ['2027-01-04t12:30:00z', '2027-01-04T12:30:00Z'],
    ['2027-01-04T12:30:00.999+02:00', '2027-01-04T10:30:00Z'],
    ['2028-02-29', '2028-02-29T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ])('%s is read as %s', (text, moment) => {
    expect(rfc3339(parseMoment(text)!)).toBe(moment);
  });

  test.each([
    'tomorrow',
    '',
    '2027-1-4',
    '2027-02-29',
    '2027-04-31',
    '2027-13-01',
    '2027-01-04T24:00:00Z',
    '2027-01-04T12:30:00',
    '2027-01-04 12:30:00Z',
    // These times are before 1970, or after the year 9999 in UTC.
    '0000-01-01',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-12:00',
  ])('%p is refused', (text) => {
    expect(parseMoment(text)).toBeNull();
  });
});

test('a day is the day in UTC', () => {
  expect(utcDay(new Date('2026-12-31T23:59:59.999Z'))).toBe('2026-12-31');
});

describe('a wall clock that is compared with the monotonic clock', () => {
  const HOUR_MS = 3_600_000;
  const YEAR_MS = 365 * DAY_MS;

  /** Both clocks of one process, set by the test. */
  class TwoClocks extends Clock {
    wall = Date.parse('2026-11-20T13:00:00Z');
    monotonicMs = 5;

    override now(): Date {
      return new Date(this.wall);
    }

    override monotonic(): number {
      return this.monotonicMs;
    }

    advance(milliseconds: number): void {
      this.wall += milliseconds;
      this.monotonicMs += milliseconds;
    }
  }

  test('a time two hours ahead is not certain, even if the clock was corrected after the time was read', async () => {
    const clock = new TwoClocks();
    const database = { query: async () => [{ now: clock.now() }] };
    const ahead = new Date(clock.wall + 2 * HOUR_MS);
    expect(await isTimeCertain(clock, database, ahead)).toBe(false);
    expect(await isTimeCertain(clock, database, clock.now())).toBe(true);
  });

  /** A clock that has run for a day, and was checked each hour. */
  function runningClock(): TwoClocks {
    const clock = new TwoClocks();
    for (let hour = 0; hour < 24; hour++) {
      expect(clock.hasJumpedAhead()).toBe(false);
      clock.advance(HOUR_MS);
    }
    return clock;
  }

  test.each([
    [2 * HOUR_MS, 2],
    [8 * HOUR_MS, 8],
    [30 * DAY_MS, 720],
  ])('after a jump of %d ms, hasJumpedAhead() is true until %d hours have passed', (jump, hours) => {
    const clock = runningClock();
    clock.wall += jump;
    for (let hour = 0; hour < hours; hour++) {
      expect(clock.hasJumpedAhead()).toBe(true);
      clock.advance(HOUR_MS);
    }
    expect(clock.hasJumpedAhead()).toBe(false);
    clock.advance(HOUR_MS);
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('a jump of a year is reported for months, and no longer once the clock is set back', () => {
    const clock = runningClock();
    clock.wall += YEAR_MS;
    for (let day = 0; day < 100; day++) {
      expect(clock.hasJumpedAhead()).toBe(true);
      clock.advance(DAY_MS);
    }
    clock.wall -= YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('a second jump restarts the time for which the jump is reported', () => {
    const clock = runningClock();
    clock.wall += 8 * HOUR_MS;
    expect(clock.hasJumpedAhead()).toBe(true);
    clock.advance(7 * HOUR_MS);
    // Now the clock is ahead by ten hours, so it is reported for ten hours from here. From the first jump, three would be left.
    clock.wall += 2 * HOUR_MS;
    expect(clock.hasJumpedAhead()).toBe(true);
    clock.advance(4 * HOUR_MS);
    expect(clock.hasJumpedAhead()).toBe(true);
    clock.advance(6 * HOUR_MS);
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('a step of seconds by NTP, and less than an hour of system sleep, do not count as a jump', () => {
    const clock = runningClock();
    for (let day = 0; day < 400; day++) {
      clock.advance(DAY_MS);
      clock.wall += day % 2 === 0 ? 59 * 60_000 : -2_000;
      expect(clock.hasJumpedAhead()).toBe(false);
    }
  });

  test('a wall clock that jumps back, and forward to where it was, is not ahead', () => {
    const clock = runningClock();
    clock.wall -= YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(false);
    clock.advance(30 * DAY_MS);
    clock.wall += YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('the clocks of this system agree with each other', () => {
    const clock = new Clock();
    expect([clock.hasJumpedAhead(), clock.hasJumpedAhead()]).toEqual([false, false]);
  });
});
