import { describe, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { Invalid } from '../../src/core/field.js';
import { actorName } from '../../src/cli/terminal/options.js';
import { hostnameHintField } from '../../src/fields/hostname-hint.js';
import { optionalReasonField, reasonField } from '../../src/fields/reason.js';
import { oneSentence } from '../../src/cli/terminal/error-sentence.js';
import { aligned } from '../../src/cli/terminal/output.js';
import { DailyLimit } from '../../src/telemetry/daily-limit.js';
import { higherState, PURCHASE_STATES } from '../../src/purchases/purchase.rules.js';

describe('a reason of staff or of a holder', () => {
  test.each([
    'x',
    'x'.repeat(500),
    '😀'.repeat(500),
    'three seats @ 20 euros',
    '@ the fair. Nothing more',
    'three @ 2.5',
  ])('%j is accepted', (reason) => expect(reasonField.parse(reason)).toBe(reason));

  test.each([
    ['', 'must say why, in a sentence'],
    [' \n ', 'must say why, in a sentence'],
    [undefined, 'must say why, in a sentence'],
    [7, 'must say why, in a sentence'],
    ['x'.repeat(501), 'must have at most 500 characters'],
    ['asked by ada@example.com', 'must not hold an e-mail address'],
    ['asked by ada@example', 'must not hold an e-mail address'],
    ['asked by ada@ example.com', 'must not hold an e-mail address'],
    ['asked by ada @ example.com', 'must not hold an e-mail address'],
    ['asked by ada  @  example.com', 'must not hold an e-mail address'],
    ['asked by ada @ mail.example.com', 'must not hold an e-mail address'],
    ['asked by ada＠example．com', 'must not hold an e-mail address'],
    ['asked by ада @ почта。рф', 'must not hold an e-mail address'],
    ['\u200b\u202e\n\u200d', 'must say why, in a sentence'],
    ['\u3164\u034f\ufe0f', 'must say why, in a sentence'],
    ['\u2800', 'must say why, in a sentence'],
    ['asked by ada \u200b@\u2060 example.\u200bcom', 'must not hold an e-mail address'],
    ['asked by ada @ example.\u200dcom', 'must not hold an e-mail address'],
    ['asked by ada @ example.\ufe0fcom', 'must not hold an e-mail address'],
  ])('%j is refused: %s', (reason, sentence) =>
    expect(reasonField.parse(reason)).toEqual(new Invalid(sentence)),
  );

  test.each([
    ['sold\r\nlast week\rby\u2028ada', 'sold\nlast week\nby\nada'],
    ['a\u0007b\u202ec\u2066d\u200be', 'abcde'],
    ['new\tmachine ', 'new machine'],
    ['cafe\u0301 👩\u200d💻', 'café 👩\u200d💻'],
    [`${'x'.repeat(500)}\u202e`, 'x'.repeat(500)],
    ['\u03b1\u0313\u0300\u0345'.repeat(500), '\u1f82'.repeat(500)],
  ])('%j is kept as %j', (typed, kept) => {
    expect(reasonField.parse(typed)).toBe(kept);
    expect(optionalReasonField.parse(typed)).toBe(kept);
  });

  test.each([[undefined], [null], [' \n '], ['\u202e\u200d'], ['\u3164\u2800']])(
    '%j of a holder is no reason',
    (typed) => expect(optionalReasonField.parse(typed)).toBeNull(),
  );

  test('is refused before it is normalized if it is longer than any form of a valid one', () => {
    const typed = `x${'\u200b'.repeat(6 * 500)}`;
    expect(reasonField.parse(typed)).toEqual(new Invalid('must have at most 500 characters'));
  });

  test('of a holder is refused if it is a NUL alone', () =>
    expect(optionalReasonField.parse('\0')).toBeInstanceOf(Invalid));
});

test('a name in the audit trail has no invisible characters', () => {
  expect(actorName(' gr\u202eace\u0007 ')).toBe('grace');
  expect(() => actorName('\u202e')).toThrow('--as must be a name of 1 to 254 characters.');
});

test('a terminal shows control and direction characters of a cell or an error as escapes', () => {
  expect(
    aligned([
      ['a\u001b[2Jb', '\u202ec'],
      ['é', 'd'],
    ]),
  ).toBe('a\\u{1b}[2Jb  \\u{202e}c\né            d');
  expect(oneSentence('The product\u009b is \u0007wrong')).toBe('The product\\u{9b} is \\u{7}wrong.');
});

describe('a label of a machine', () => {
  test.each([
    [null, null],
    [undefined, null],
    ['', null],
    [' \t ', null],
    ['\u200d', null],
    ['\u3164\u115f\uffa0', null],
    ['\u2800\ufe0f', null],
    ['Ada’s Mac', 'Ada’s Mac'],
    ['  Studio  ', 'Studio'],
    ['a\u0007b\u202ec\u2028d\u2029e', 'abcde'],
    ['e\u0301', 'é'],
    ['👩\u200d💻', '👩\u200d💻'],
    ['\u{1f3f4}\u{e0067}\u{e007f}', '\u{1f3f4}\u{e0067}\u{e007f}'],
    ['می\u200cخواهم', 'می\u200cخواهم'],
    ['\u200d x', '\u200d x'],
  ])('%j is shown as %j', (typed, shown) => expect(hostnameHintField.parse(typed)).toBe(shown));

  test('has at most 100 characters, and an emoji counts as one', () => {
    expect(hostnameHintField.parse('😀'.repeat(100))).toBe('😀'.repeat(100));
    expect(hostnameHintField.parse('x'.repeat(101))).toEqual(new Invalid('must have at most 100 characters'));
  });

  test('with a visible character is refused before it is normalized if it is longer than any form of a valid one', () => {
    const longest = '\u03b1\u0313\u0300\u0345'.repeat(100);
    expect(hostnameHintField.parse(longest)).toBe('\u1f82'.repeat(100));
    expect(hostnameHintField.parse(longest + '\u200b'.repeat(201))).toEqual(
      new Invalid('must have at most 100 characters'),
    );
    expect(hostnameHintField.parse('\u200b'.repeat(601))).toBeNull();
  });

  test.each([7, 'a\u0000b', '\ud800'])('is refused if it is %j', (typed) => {
    expect(hostnameHintField.parse(typed)).toBeInstanceOf(Invalid);
  });
});

test('of two states of a purchase, the one later in the list wins, whichever is given first', () => {
  expect(PURCHASE_STATES).toEqual(['paid', 'disputed', 'dispute_won', 'refunded']);
  for (const [low, state] of PURCHASE_STATES.entries())
    for (const other of PURCHASE_STATES.slice(low)) {
      expect(higherState(state, other)).toBe(other);
      expect(higherState(other, state)).toBe(other);
    }
});

describe('a limit per day', () => {
  const midnight = new Date('2026-11-20T00:00:00Z');
  const after = (milliseconds: number) => new Date(midnight.getTime() + milliseconds);

  test('reports once a day that it is reached', () => {
    const limit = new DailyLimit(2);
    const firstDay = [0, 1, 2, 3, DAY_MS - 1].map((milliseconds) => limit.count(after(milliseconds)));
    expect(firstDay).toEqual(['counted', 'counted', 'reached', 'over', 'over']);
    const nextDay = [DAY_MS, DAY_MS, DAY_MS, DAY_MS].map((milliseconds) => limit.count(after(milliseconds)));
    expect(nextDay).toEqual(['counted', 'counted', 'reached', 'over']);
  });

  test('starts again from zero when the clock is set back to the day before', () => {
    const limit = new DailyLimit(0);
    expect(limit.count(midnight)).toBe('reached');
    expect(limit.count(after(-1))).toBe('reached');
  });

  test('counts on the first day of the epoch too', () => {
    expect(new DailyLimit(1).count(new Date(0))).toBe('counted');
  });
});
