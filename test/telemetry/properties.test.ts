import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../support/any-text.js';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { Service } from '../support/harness.js';

let service: Service;
let token: string;
beforeAll(async () => {
  service = await Service.start();
  token = (await service.activate(await service.issue())).json.token;
});
afterAll(() => service.close());

const RUNS = { numRuns: 200 };

async function send(telemetry: unknown) {
  const { status, json } = await service.heartbeat(token, { telemetry });
  const rows = await service.sql<Record<string, unknown>>('delete from telemetry_inbox returning *');
  return { status, telemetry: json.telemetry as { stored: boolean; dropped: string[] }, rows };
}

const name = fc.constantFrom(...TELEMETRY_NAMES);
/** Texts of every kind, and those that a careless array, statement or pattern would trip over. */
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

test('whatever telemetry is, the heartbeat is answered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 8 }), async (telemetry) => {
      const { status, telemetry: answered, rows } = await send(telemetry);
      expect([status, answered]).toEqual([200, { stored: rows.length === 1, dropped: expect.any(Array) }]);
    }),
    RUNS,
  );
});

test('each member of a block is stored as it was sent, or stored as null and named', async () => {
  await fc.assert(
    fc.asyncProperty(block, async (telemetry) => {
      const { status, telemetry: answered, rows } = await send(telemetry);
      expect([status, answered.stored, rows.length]).toEqual([200, true, 1]);
      for (const member of TELEMETRY_NAMES) {
        const stored = rows[0]![member];
        const isNamed = answered.dropped.includes(member);
        // As JSON brings it: a number that JSON cannot write arrives as null.
        const sent = JSON.parse(JSON.stringify({ ...telemetry }))[member] as unknown;
        const kept = member === 'crash_sig' && typeof sent === 'string' ? sent.toLowerCase() : sent;
        if (sent === undefined) expect([stored, isNamed]).toEqual([null, false]);
        else expect([stored, isNamed]).toEqual(isNamed ? [null, true] : [kept, false]);
      }
    }),
    RUNS,
  );
});
