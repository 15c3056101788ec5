import { describe, expect, test } from '@jest/globals';
import { Clock, DAY_MS, parseMoment, rfc3339, utcDay } from '../../src/core/clock.js';

describe('a moment that a person writes', () => {
  test.each([
    ['2027-01-04', '2027-01-04T00:00:00Z'],
    ['2027-01-04T12:30:00Z', '2027-01-04T12:30:00Z'],
    ['2027-01-04t12:30:00z', '2027-01-04T12:30:00Z'],
    ['2027-01-04T12:30:00.999+02:00', '2027-01-04T10:30:00Z'],
    ['2028-02-29', '2028-02-29T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ])('%s is %s', (text, moment) => {
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
    '0000-01-01',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-12:00',
  ])('%p is not a moment', (text) => {
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
    counted = 5;

    override now(): Date {
      return new Date(this.wall);
    }

    override monotonic(): number {
      return this.counted;
    }

    pass(milliseconds: number): void {
      this.wall += milliseconds;
      this.counted += milliseconds;
    }
  }

  /** A clock that has run for a day, and was checked each hour. */
  function running(): TwoClocks {
    const clock = new TwoClocks();
    for (let hour = 0; hour < 24; hour++) {
      expect(clock.hasJumpedAhead()).toBe(false);
      clock.pass(HOUR_MS);
    }
    return clock;
  }

  test.each([
    [2 * HOUR_MS, 2],
    [8 * HOUR_MS, 8],
    [30 * DAY_MS, 720],
  ])('a jump of %d ms is not believed before %d hours have passed', (jump, hours) => {
    const clock = running();
    clock.wall += jump;
    for (let hour = 0; hour < hours; hour++) {
      expect(clock.hasJumpedAhead()).toBe(true);
      clock.pass(HOUR_MS);
    }
    expect(clock.hasJumpedAhead()).toBe(false);
    clock.pass(HOUR_MS);
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('a jump of a year is not believed for months, and is no longer reported once the clock is set back', () => {
    const clock = running();
    clock.wall += YEAR_MS;
    for (let day = 0; day < 100; day++) {
      expect(clock.hasJumpedAhead()).toBe(true);
      clock.pass(DAY_MS);
    }
    clock.wall -= YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('a second jump restarts the time until the wall clock is believed', () => {
    const clock = running();
    clock.wall += 8 * HOUR_MS;
    expect(clock.hasJumpedAhead()).toBe(true);
    clock.pass(7 * HOUR_MS);
    clock.wall += YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(true);
    clock.pass(20 * HOUR_MS);
    expect(clock.hasJumpedAhead()).toBe(true);
  });

  test('NTP that slews, a step of seconds, and a sleep of less than an hour each night are no jumps', () => {
    const clock = running();
    for (let night = 0; night < 400; night++) {
      clock.pass(DAY_MS);
      clock.wall += night % 2 === 0 ? 59 * 60_000 : -2_000;
      expect(clock.hasJumpedAhead()).toBe(false);
    }
  });

  test('a wall clock that jumps back, and forward to where it was, is not ahead', () => {
    const clock = running();
    clock.wall -= YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(false);
    clock.pass(30 * DAY_MS);
    clock.wall += YEAR_MS;
    expect(clock.hasJumpedAhead()).toBe(false);
  });

  test('the clocks of this system agree with each other', () => {
    const clock = new Clock();
    expect([clock.hasJumpedAhead(), clock.hasJumpedAhead()]).toEqual([false, false]);
  });
});
