import { describe, expect, test } from '@jest/globals';
import { parseMoment, rfc3339, utcDay } from '../../src/clock.js';

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
  ])('%p is none', (text) => {
    expect(parseMoment(text)).toBeNull();
  });
});

test('a day is the day in UTC', () => {
  expect(utcDay(new Date('2026-12-31T23:59:59.999Z'))).toBe('2026-12-31');
});
