import { describe, expect, test } from '@jest/globals';
import { Invalid } from '../../src/core/field.js';
import { readDate, type DayOrder } from '../../src/license-import/dates.js';

/** The time that a text means, and the name of its format, or the sentence of a refusal. */
function read(text: string, order?: DayOrder) {
  const result = readDate(text, order);
  return result instanceof Invalid ? result.sentence : `${result.date.toISOString()} ${result.format}`;
}

test.each([
  ['2027-01-04', '2027-01-04T00:00:00.000Z YYYY-MM-DD'],
  ['2027-01-04T12:30:15Z', '2027-01-04T12:30:15.000Z YYYY-MM-DD hh:mm with its zone'],
  ['2021-05-24T14:15:07.000000Z', '2021-05-24T14:15:07.000Z YYYY-MM-DD hh:mm with its zone'],
  ['2024-01-05 10:11:12 UTC', '2024-01-05T10:11:12.000Z YYYY-MM-DD hh:mm with its zone'],
  ['2024-01-05 10:11:12 +0200', '2024-01-05T08:11:12.000Z YYYY-MM-DD hh:mm with its zone'],
  ['2024-01-05 10:11', '2024-01-05T10:11:00.000Z YYYY-MM-DD hh:mm (read as UTC)'],
  ['01/31/2027 23:05', '2027-01-31T23:05:00.000Z MM/DD/YYYY hh:mm (read as UTC)'],
  ['31/01/2027', '2027-01-31T00:00:00.000Z DD/MM/YYYY'],
  ['3/3/2027', '2027-03-03T00:00:00.000Z MM/DD/YYYY'],
  ['31.1.2027', '2027-01-31T00:00:00.000Z DD.MM.YYYY'],
  ['4.3.2027', '2027-03-04T00:00:00.000Z DD.MM.YYYY'],
  ['Jan 4, 2027 1:05 PM', '2027-01-04T13:05:00.000Z Mon D, YYYY hh:mm (read as UTC)'],
  ['January 4, 2027 12:05 am', '2027-01-04T00:05:00.000Z Mon D, YYYY hh:mm (read as UTC)'],
  ['Sept. 4, 2027', '2027-09-04T00:00:00.000Z Mon D, YYYY'],
  ['4 Jan 2027', '2027-01-04T00:00:00.000Z D Mon YYYY'],
  ['1798761600', '2027-01-01T00:00:00.000Z seconds since 1970'],
  ['1798761600000', '2027-01-01T00:00:00.000Z milliseconds since 1970'],
])('%s is read as %s', (text, expected) => expect(read(text)).toBe(expected));

describe('a date that may be in either of two months', () => {
  const sentence = 'may be in either of two months: give the order of day and month with --dates mdy or dmy';
  test.each(['03/04/2027', '3/4/2027 10:00', '12/11/2027'])('%s is refused', (text) =>
    expect(read(text)).toBe(sentence),
  );
  test('is read in the order that is given', () => {
    expect(read('03/04/2027', 'mdy')).toBe('2027-03-04T00:00:00.000Z MM/DD/YYYY');
    expect(read('03/04/2027', 'dmy')).toBe('2027-04-03T00:00:00.000Z DD/MM/YYYY');
  });
  test('of the other order is refused, not corrected', () =>
    expect(read('01/31/2027', 'dmy')).toMatch(/^must be a date/));
});

test.each([
  '2027-02-30',
  '2027-13-01',
  '30/02/2027',
  'Foo 4, 2027',
  'Junk 4, 2027',
  '4 Marble 2027',
  '4 Foo 2027',
  '2027-01-04 25:00',
  'Jan 4, 2027 13:00 PM',
  'soon',
  '123',
  '27-01-04',
  // A year, month, day, hour and minute, and no number of milliseconds.
  '202712310000',
])('%s is refused', (text) => expect(read(text)).toMatch(/^must be a date such as/));
