import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../support/any-text.js';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { Service } from '../support/harness.js';

const service = await Service.start();
const token: string = (await service.activate(await service.issue())).json.token;

const RUNS = { numRuns: 200 };

async function send(telemetry: unknown) {
  const { status, json } = await service.heartbeat(token, { telemetry });
  const rows = await service.sql<Record<string, unknown>>('delete from telemetry_inbox returning *');
  return { status, telemetry: json.telemetry as { stored: boolean; dropped: string[] }, rows };
}

const name = fc.constantFrom(...TELEMETRY_NAMES);
/**
 * Random texts, texts with characters (and the word NULL) that are special in arrays, SQL statements or patterns, texts with NUL
 * and halves of surrogate pairs, and texts in or near the formats of `crash_sig` and `crash_frame`.
 */
const text = fc.oneof(
  anyText({ maxLength: 130 }),
  fc.string({ unit: fc.constantFrom(...'"\'{},\\ ();$%\n\t|*?[]^NUL0a'), maxLength: 20 }),
  fc.string({ unit: fc.constantFrom('\0', '\ud83d', '\ude00', 'a'), maxLength: 4 }),
  fc.stringMatching(/^[0-9a-fA-F]{14,18}$/),
  fc.stringMatching(/^[\w.]{1,40}:\d{1,5}$/),
);
const number = fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger());
const value = fc.oneof(text, number, fc.jsonValue());
const block = fc.dictionary(fc.oneof({ weight: 9, arbitrary: name }, text), value, { maxKeys: 24 });

test('the heartbeat is confirmed with any value of telemetry', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 8 }), async (telemetry) => {
      const { status, telemetry: result, rows } = await send(telemetry);
      expect([status, result]).toEqual([200, { stored: rows.length === 1, dropped: expect.any(Array) }]);
    }),
    RUNS,
  );
});

test('each member of a block is stored as it was sent, or as null and reported as dropped', async () => {
  await fc.assert(
    fc.asyncProperty(block, async (telemetry) => {
      const { status, telemetry: result, rows } = await send(telemetry);
      expect([status, result.stored, rows.length]).toEqual([200, true, 1]);
      for (const member of TELEMETRY_NAMES) {
        const stored = rows[0]![member];
        const isDropped = result.dropped.includes(member);
        // The value after JSON, which writes numbers such as Infinity as null.
        const sent = JSON.parse(JSON.stringify({ ...telemetry }))[member] as unknown;
        const expected = member === 'crash_sig' && typeof sent === 'string' ? sent.toLowerCase() : sent;
        if (sent === undefined) expect([stored, isDropped]).toEqual([null, false]);
        else expect([stored, isDropped]).toEqual(isDropped ? [null, true] : [expected, false]);
      }
    }),
    RUNS,
  );
});
