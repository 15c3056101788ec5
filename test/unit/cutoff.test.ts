import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, utcDay } from '../../src/core/clock.js';
import { firstDayKept } from '../../src/retention/cutoff.js';

/** Whether retention still keeps a row of this day. */
function isKept(day: string, asOf: string, months: number): boolean {
  return day >= firstDayKept(new Date(asOf), months);
}

describe('a row is deleted on the same day of the month, when its period is over', () => {
  test.each([
    // day of the row, months, last instant at which it is kept, first instant at which it is not
    ['2024-11-20', 24, '2026-11-19T23:59:59.999Z', '2026-11-20T00:00:00.000Z'],
    ['2025-11-20', 12, '2026-11-19T23:59:59.999Z', '2026-11-20T00:00:00.000Z'],
    ['2016-11-20', 120, '2026-11-19T23:59:59.999Z', '2026-11-20T00:00:00.000Z'],
    // A row of 29 February is deleted on 28 February, unless that year is a leap year too.
    ['2024-02-29', 24, '2026-02-27T23:59:59.999Z', '2026-02-28T00:00:00.000Z'],
    ['2024-02-28', 24, '2026-02-27T23:59:59.999Z', '2026-02-28T00:00:00.000Z'],
    ['2024-03-01', 24, '2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00.000Z'],
    ['2024-02-29', 12, '2025-02-27T23:59:59.999Z', '2025-02-28T00:00:00.000Z'],
    ['2024-02-29', 48, '2028-02-28T23:59:59.999Z', '2028-02-29T00:00:00.000Z'],
    ['2024-02-29', 120, '2034-02-27T23:59:59.999Z', '2034-02-28T00:00:00.000Z'],
    // The run is around 29 February: a row of the 28th is deleted the day before the 29th, a row of 1 March the day after.
    ['2026-02-28', 24, '2028-02-27T23:59:59.999Z', '2028-02-28T00:00:00.000Z'],
    ['2026-03-01', 24, '2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00.000Z'],
    // Ends of months and of years.
    ['2024-10-31', 24, '2026-10-30T23:59:59.999Z', '2026-10-31T00:00:00.000Z'],
    ['2026-08-31', 6, '2027-02-27T23:59:59.999Z', '2027-02-28T00:00:00.000Z'],
    ['2024-12-31', 24, '2026-12-30T23:59:59.999Z', '2026-12-31T00:00:00.000Z'],
    ['2025-01-01', 24, '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
  ])('a row of %s with a period of %i months is kept at %s and deleted at %s', (day, months, last, first) => {
    expect([isKept(day, last, months), isKept(day, first, months)]).toEqual([true, false]);
  });
});

test.each([
  ['2026-11-20T00:00:00Z', 24, '2024-11-21'],
  ['2026-11-20T23:59:59Z', 24, '2024-11-21'],
  ['2026-02-28T12:00:00Z', 24, '2024-03-01'],
  ['2026-02-27T12:00:00Z', 24, '2024-02-28'],
  ['2028-02-29T12:00:00Z', 24, '2026-03-01'],
  ['2028-02-29T12:00:00Z', 12, '2027-03-01'],
  ['2028-02-28T12:00:00Z', 12, '2027-03-01'],
  ['2026-12-31T12:00:00Z', 12, '2026-01-01'],
  ['2027-01-01T12:00:00Z', 120, '2017-01-02'],
])('at %s, with a period of %i months, the first day kept is %s', (asOf, months, day) => {
  expect(firstDayKept(new Date(asOf), months)).toBe(day);
});

/** The same day of the month, this many months later, or the last day of the month if the month is too short. */
function addMonths(day: string, months: number): string {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  const count = year * 12 + (month - 1) + months;
  const [toYear, toMonth] = [Math.floor(count / 12), (count % 12) + 1];
  const isLeap = (toYear % 4 === 0 && toYear % 100 !== 0) || toYear % 400 === 0;
  const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  const twoDigits = (number: number) => String(number).padStart(2, '0');
  return `${toYear}-${twoDigits(toMonth)}-${twoDigits(Math.min(date, lengths[toMonth - 1]!))}`;
}

test('for any day and any number of months: a row is kept through the day before its period ends, and deleted on the day on which the period ends', () => {
  const someDay = fc
    .integer({ min: Date.UTC(1995, 0, 1) / DAY_MS, max: Date.UTC(2105, 0, 1) / DAY_MS })
    .map((days) => utcDay(new Date(days * DAY_MS)));
  const period = fc.oneof(fc.constantFrom(12, 24, 120), fc.integer({ min: 1, max: 1200 }));
  const timeOfDay = fc.integer({ min: 0, max: DAY_MS - 1 });
  const property = fc.property(someDay, period, timeOfDay, (day, months, time) => {
    const end = Date.parse(addMonths(day, months)) + time;
    expect(isKept(day, new Date(end - DAY_MS).toISOString(), months)).toBe(true);
    expect(isKept(day, new Date(end).toISOString(), months)).toBe(false);
    // The first day kept only moves forward, so a deleted row stays outside the period.
    expect(firstDayKept(new Date(end + DAY_MS), months) > day).toBe(true);
  });
  // A failure prints the seed, with which it can be repeated.
  fc.assert(property, { numRuns: 5_000 });
});
