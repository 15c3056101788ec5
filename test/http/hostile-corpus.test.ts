import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MARKER, ODD_REQUESTS, SMUGGLING_REQUESTS } from './corpus.js';
import { runs } from '../fuzz/fuzz.js';
import { Service } from '../support/harness.js';
import { exchange, expectProblem, request, type RawAnswer } from '../support/http/raw-http.js';

const service = await Service.start();

const corpus = { ...SMUGGLING_REQUESTS, ...ODD_REQUESTS };
const bytesOf = (text: string) => Buffer.from(text, 'latin1');
// The sender closes its half after the last byte, so that neither side waits for more.
const end = async (socket: Socket) => socket.end();

const linesSince = (before: number) =>
  service.logged.slice(before).flatMap((line) => line.split('\n').filter((each) => each !== ''));

/**
 * Expects documented responses, at most one log line for each request in `sent`, no error and none of the words `smuggled`
 * and `garbage` of the corpus in the log, and a service that still works.
 * @param before the number of log entries before the request
 */
async function expectHarmless(sent: Buffer, answers: readonly RawAnswer[], before: number): Promise<void> {
  for (const answer of answers) {
    if (answer.status >= 400) expectProblem(answer);
    else expect([200, 204, 304]).toContain(answer.status);
    for (const name of ['set-cookie', 'upgrade', 'server']) expect(answer.headers).not.toHaveProperty(name);
  }
  const lines = linesSince(before);
  // The log has a line for each valid request, and one for bytes that are no request.
  const heads = sent.toString('latin1').split(/\r?\n\r?\n/).length;
  expect(lines.length).toBeLessThanOrEqual(heads);
  expect(lines.filter((line) => /"level":[56]0|smuggled|garbage/.test(line))).toEqual([]);
  const [good] = await exchange(service.url, [
    request('GET', '/health/live', undefined, 'connection: close\r\n'),
  ]);
  expect(good).toMatchObject({ status: 200, body: '{"status":"ok"}' });
}

/** The parts of an exchange: the bytes, and then the end of the sender's half. */
const parts = (sent: Buffer) => [sent, end];

test.each(Object.entries(SMUGGLING_REQUESTS))(
  'no bytes in the body of a request are read as another request: %s',
  async (_what, text) => {
    const before = service.logged.length;
    const answers = await exchange(service.url, parts(bytesOf(text)), 3);
    // No route has the path of the hidden request, so a service that read it would respond with 404.
    expect(answers.map(({ status }) => status).filter((status) => status === 404)).toEqual([]);
    await expectHarmless(bytesOf(text), answers, before);
  },
);

test.each(Object.entries(ODD_REQUESTS))(
  'a malformed or unusual request gets a documented response or none: %s',
  async (_what, text) => {
    const before = service.logged.length;
    await expectHarmless(bytesOf(text), await exchange(service.url, parts(bytesOf(text)), 3), before);
  },
);

test('a request that is sent byte by byte gets the same status as in one piece', async () => {
  for (const text of [
    SMUGGLING_REQUESTS['two lengths']!,
    ODD_REQUESTS['chunks with extensions and a trailer']!,
  ]) {
    const [whole] = await exchange(service.url, parts(bytesOf(text)));
    const slow = [...bytesOf(text)].map((byte) => async (socket: Socket) => {
      if (socket.writable) await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
    });
    const [answer] = await exchange(service.url, [...slow, end]);
    expect(answer?.status).toBe(whole?.status);
  }
});

const texts = Object.values(corpus).filter(({ length }) => length < 2_000);
const change = fc.record({
  at: fc.nat(1_999),
  byte: fc.nat(255),
  kind: fc.nat(3),
  other: fc.constantFrom(...texts),
});

/** Changes, removes or repeats bytes, or replaces them by a part of another text of the corpus. */
function mutate(
  bytes: Buffer,
  { at, byte, kind, other }: { at: number; byte: number; kind: number; other: string },
) {
  const place = at % (bytes.length + 1);
  const [left, right] = [bytes.subarray(0, place), bytes.subarray(place)];
  if (kind === 0) return Buffer.concat([left, Buffer.of(byte), right.subarray(1)]);
  if (kind === 1) return Buffer.concat([left, right.subarray(1 + (byte % 8))]);
  if (kind === 2) return Buffer.concat([left, left.subarray(-8), right]);
  return Buffer.concat([left, bytesOf(other).subarray(byte % (other.length + 1))]);
}

test('the corpus with changed bytes and mixed parts gets documented responses or none', async () => {
  const mutant = fc
    .tuple(fc.constantFrom(...texts), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([text, changes]) => changes.reduce(mutate, bytesOf(text)));
  await fc.assert(
    fc.asyncProperty(mutant, async (bytes) => {
      const before = service.logged.length;
      await expectHarmless(bytes, await exchange(service.url, parts(bytes), 4), before);
    }),
    runs(80),
  );
});

test('a request with the method PRI, which Fastify has no hook for, is logged', async () => {
  const before = service.logged.length;
  const [answer] = await exchange(
    service.url,
    parts(bytesOf(ODD_REQUESTS['HTTP/2 preface without a version']!)),
  );
  expectProblem(answer!, 'malformed_request');
  expect(linesSince(before)).toEqual([expect.stringContaining('"code":"METHOD_PRI"')]);
});

test('a request with the path of the hidden requests gets the 404 that the tests above search for', async () => {
  const [answer] = await exchange(service.url, [request('GET', MARKER, undefined, 'connection: close\r\n')]);
  expectProblem(answer!, 'not_found');
});
