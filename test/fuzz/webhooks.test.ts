import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from './fuzz.js';
import { retryWhileUnavailable, Service, type Answer } from '../support/harness.js';
import {
  end,
  waitForMails,
  PURCHASES_PATH,
  report,
  signatureHeaders,
  PURCHASE_SETTINGS,
  unixTime,
} from '../support/http/webhook.js';
import { comparableRows } from '../support/tables.js';

const service = await Service.start({ environment: PURCHASE_SETTINGS });
afterAll(() => end(service));

const paidReport = (transaction_id: string) =>
  JSON.stringify({ transaction_id, email: 'ada@buyer.example', status: 'paid' });

const send = (body: string | Uint8Array, headers: Record<string, string>): Promise<Answer> =>
  retryWhileUnavailable(() => service.call('POST', PURCHASES_PATH, body, headers));

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
const change = fc.record({
  what: fc.constantFrom('body', ...NAMES),
  position: fc.nat(999),
  inserted: fc.constantFrom('', 'x', '0', ' ', 'v1,', '=', ',', '.', '-', 'A'),
  removedLength: fc.nat(2),
});

function changeText(
  text: string,
  { position, inserted, removedLength }: { position: number; inserted: string; removedLength: number },
): string {
  const place = position % (text.length + 1);
  return text.slice(0, place) + inserted + text.slice(place + removedLength);
}

// White space around a header is ignored, and one valid signature of a list is enough.
const isEquivalent = (a: Record<string, string>, b: Record<string, string>) =>
  NAMES.slice(0, 2).every((name) => a[name]!.trim() === b[name]!.trim()) &&
  a['webhook-signature']!.trim().split(' ').includes(b['webhook-signature']!);

test('a report that differs from the signed bytes is refused and changes no row', async () => {
  await report(service, paidReport('tx-0'));
  await waitForMails(service.database);
  const before = await comparableRows(service.database);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const [body, at] = [paidReport('tx-1'), unixTime()];
      const genuine = signatureHeaders(body, { at });
      const headers = { ...genuine };
      let other = body;
      for (const each of changes) {
        if (each.what === 'body') other = changeText(other, each);
        else headers[each.what] = changeText(headers[each.what]!, each);
      }
      fc.pre(other !== body || !isEquivalent(headers, genuine));
      const { status, json } = await send(other, headers);
      // After 60 wrong signatures in a minute the answer is 429.
      expect([
        [403, 'webhook_signature_invalid'],
        [429, 'too_many_requests'],
      ]).toContainEqual([status, json?.code]);
    }),
    runs(60),
  );
  expect(await comparableRows(service.database)).toEqual(before);
  // A valid signature is accepted even after too many wrong ones.
  expect((await send(paidReport('tx-2'), signatureHeaders(paidReport('tx-2')))).status).toBe(204);
});
