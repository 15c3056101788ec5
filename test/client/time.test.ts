import { describe, expect, test } from '@jest/globals';
import { parseRetryAfter } from '../../client/src/retry-after.js';
import { SeenTime, type StoredTime } from '../../client/src/seen-time.js';
import { formatTime, parseTime, representable, systemTimers } from '../../client/src/time.js';
import { at, FakeTime, START } from './harness.js';

const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** Makes the time seen by a computer. All arguments are seconds; `wall` (the clock) and `highest` count from START. */
function makeSeenTime(wall: number, highest: number | null, ahead = 0) {
  const time = new FakeTime(START + wall * 1_000);
  const stored: StoredTime = {
    highest_seen: highest === null ? null : at(START + highest * 1_000),
    clock_ahead_seconds: ahead,
  };
  const seenTime = new SeenTime(time.clock, stored);
  return { time, seenTime, now: () => (seenTime.now() - START) / 1_000 };
}

describe('the time seen', () => {
  test.each([
    // wall, highest, ahead: now, ahead from now on
    [100, null, 0, 100, 0],
    [100, null, 10, 90, 10],
    [100, null, -10, 100, 0],
    [100, 50, 0, 100, 0],
    [100, 50, 10, 90, 10],
    [100, 90, 10, 90, 10],
    [100, 100, 0, 100, 0],
    // The clock was set back.
    [105, 100, 10, 100, 5],
    [90, 100, 10, 100, 0],
    [90, 100, 0, 100, 0],
  ])('of a clock at %p, with %p seen and %p ahead, is %p', (wall, highest, ahead, now, aheadThen) => {
    const { seenTime, now: read } = makeSeenTime(wall, highest, ahead);
    expect(read()).toBe(now);
    expect(seenTime.toStored()).toEqual({
      highest_seen: at(START + now * 1_000),
      clock_ahead_seconds: aheadThen,
    });
  });

  test('grows by the time that the application runs, whatever the clock shows', () => {
    const { time, now } = makeSeenTime(100, 100);
    time.wall = START;
    time.monotonic = 7_000;
    expect(now()).toBe(107);
    expect(now()).toBe(107);
    // A monotonic clock that goes back adds nothing.
    time.monotonic = 3_000;
    expect(now()).toBe(107);
    time.monotonic = 4_000;
    expect(now()).toBe(108);
  });

  test('is never before the time when the service issued the token', () => {
    const { seenTime, now } = makeSeenTime(100, 100);
    seenTime.atLeast(START + 90_000);
    expect(now()).toBe(100);
    seenTime.atLeast(START + 130_000);
    expect(now()).toBe(130);
    seenTime.atLeast(LATEST + 1);
    expect(seenTime.now()).toBe(LATEST);
  });

  test.each([
    [40, 60],
    [130, 0],
  ])('is set by a confirmation at %p, also back; the clock is then %p ahead', (confirmed, ahead) => {
    const { time, seenTime, now } = makeSeenTime(100, 100);
    time.monotonic = 5_000;
    seenTime.confirm(START + confirmed * 1_000);
    expect(now()).toBe(confirmed);
    expect(seenTime.toStored().clock_ahead_seconds).toBe(ahead);
    time.monotonic = 6_000;
    time.wall += 1_000;
    expect(now()).toBe(confirmed + 1);
  });

  test('continues with the clock after a confirmation', () => {
    const { time, seenTime, now } = makeSeenTime(100, 100);
    seenTime.confirm(START + 40_000);
    time.wall += 7_000;
    expect(now()).toBe(47);
  });
});

describe('an RFC 3339 time', () => {
  test.each([
    ['2026-11-20T13:00:00Z', START],
    ['2026-11-20T14:30:00+01:30', START],
    ['2026-11-20T12:00:00-01:00', START],
    ['2026-11-20T13:00:00.25Z', START + 250],
    ['2026-11-20T13:00:00.123456789Z', START + 123],
  ])('%s is read', (text, time) => expect(parseTime(text)).toBe(time));

  test.each([
    ' 2026-11-20T13:00:00Z',
    'x2026-11-20T13:00:00Z',
    '2026-11-20T13:00:00Z (UTC)',
    '2026-11-20T13:00:00Z ',
    '2026-11-20T13:00:00',
    '2026-11-20 13:00:00Z',
    '2026-11-20T13:00Z',
    '2026-11-20',
    '2026-11-20T13:00:00.Z',
    '2026-11-20T13:00:00.1234567890Z',
    '2026-11-20T13:00:00+0100',
    '+002026-11-20T13:00:00Z',
    '2026-13-20T13:00:00Z',
    '2026-02-29T13:00:00Z',
    '2100-02-29T13:00:00Z',
    '2026-04-31T13:00:00Z',
    '2026-04-00T13:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T23:59:60Z',
    START,
    null,
    ['2026-11-20T13:00:00Z'],
  ])('%p is not a time', (value) => expect(parseTime(value)).toBeUndefined());

  test('is limited to the years 1970 to 9999 before it is written', () => {
    expect([-1, 0, START, LATEST, LATEST + 1].map(representable)).toEqual([0, 0, START, LATEST, LATEST]);
    expect(parseTime(formatTime(LATEST))).toBe(LATEST);
  });
});

describe('a retry-after', () => {
  const secondsOf = (value: string, date?: string) =>
    parseRetryAfter({ headers: new Headers({ 'retry-after': value, ...(date && { date }) }) }, START);

  test.each([
    ['120', undefined, 120],
    ['Fri, 20 Nov 2026 13:02:00 GMT', undefined, 120],
    // The clock of the client is a year behind; the date of the answer is used instead.
    ['Sat, 20 Nov 2027 13:02:00 GMT', 'Sat, 20 Nov 2027 13:00:00 GMT', 120],
    ['Fri, 20 Nov 2026 12:00:00 GMT', undefined, 0],
    ...['', '-1', '1.5', '1e9', '2026-11-20T13:00:00Z'].map(
      (value) => [value, undefined, undefined] as const,
    ),
    ['Fri, 20 Nov 20268 13:00:00 GMT', undefined, undefined],
    ['9'.repeat(12), undefined, 999_999_999_999],
    ['9'.repeat(13), undefined, undefined],
    ['1x', undefined, undefined],
    ['x1', undefined, undefined],
    ['Fri, 20 Xyz 2026 13:02:00 GMT', undefined, undefined],
    ['Fri, 20 Nov 2026 13:02:00 GMT+1', undefined, undefined],
    ['xFri, 20 Nov 2026 13:02:00 GMT', undefined, undefined],
    ['Fri, 20 Nov 2026 13:02:00 GMT', 'soon', 120],
    ['Fri, 20 Nov 2026 13:02:00 GMT', '2026-11-20T13:01:00Z', 120],
    ['Fri, 20 Nov 2026 13:02:00 GMT', 'Invalid Date', 120],
    ['Invalid Date', undefined, undefined],
    ['Mon, 31 Nov 2026 13:02:00 GMT', undefined, undefined],
    ['Friday, 20-Nov-26 13:02:00 GMT', undefined, undefined],
  ])('of %j in an answer with the date %s is %p seconds', (value, date, seconds) =>
    expect(secondsOf(value, date)).toBe(seconds),
  );

  test('that is missing gives no number of seconds', () => {
    expect(parseRetryAfter({ headers: new Headers() }, START)).toBeUndefined();
  });
});

test('a system timer that was cleared does not run', async () => {
  const worked: string[] = [];
  systemTimers.clear(systemTimers.set(() => worked.push('cleared'), 1));
  await new Promise<void>((resolve) => {
    const done = systemTimers.set(() => resolve(), 20) as NodeJS.Timeout;
    done.ref();
  });
  expect(worked).toEqual([]);
});
