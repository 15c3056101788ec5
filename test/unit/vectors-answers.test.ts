import { describe, expect, test } from '@jest/globals';
import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorOf, readLicenseAnswer } from '../../client/src/answers.js';
import { PROBLEM_MEMBERS } from '../../client/src/problem-members.js';
import { systemClock, systemTimers } from '../../client/src/time.js';
import { Transport } from '../../client/src/transport.js';
import { tokenResponse } from '../../src/activation/token-response.js';
import { problem, problemDocument, PROBLEMS, type ProblemCode } from '../../src/http/problems/problem.js';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import type { LicenseClaims } from '../../src/keys/tokens/license-token.js';
import { createTokenKey, writeRing } from '../../src/keys/tokens/ring-file.js';
import { FakeTime } from '../client/harness.js';
import { temporaryFolder } from '../support/folders.js';
import { readVectors } from '../support/vectors.js';

interface Case {
  name: string;
  status: number;
  headers: Record<string, string>;
  /** The wall clock of the client, if the result depends on it. */
  now?: string;
  body?: unknown;
  body_base64?: string;
  /**
   * What the client must read. `believed` is true if the client accepts the answer as a confirmation or a problem of the
   * service. Otherwise the client handles the answer like no answer.
   */
  expected: Record<string, unknown>;
}

const problems = readVectors<{ public_url: string; of_the_service: Case[]; hostile: Case[] }>(
  'problems.json',
);
const confirmations = readVectors<{ cases: Case[] }>('confirmations.json').cases;

/** How the reference client reads an answer, through its own transport. */
async function readByClient({ status, headers, now, body, body_base64 }: Case) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = body_base64 === undefined ? text : Buffer.from(body_base64, 'base64');
  // The body is bytes, as from the network: Response would add a content type to a string.
  const fetch = async () => new Response(Buffer.from(bytes), { status, headers });
  const clock = now === undefined ? systemClock : new FakeTime(Date.parse(now)).clock;
  const ports = { fetch, clock, timers: systemTimers, signal: new AbortController().signal };
  return readLicenseAnswer(
    await new Transport('https://license.example.com', ports).call({ method: 'POST', path: '/v1/heartbeat' }),
  );
}

describe('problems.json, as the reference client reads it', () => {
  test.each([...problems.of_the_service, ...problems.hostile])('$name', async (vector) => {
    const outcome = await readByClient(vector);
    expect(outcome.kind).toBe(vector.expected['believed'] ? 'problem' : 'no_answer');
    if (outcome.kind === 'confirmed') throw new Error('a problem was read as a confirmation');
    expect(errorOf(outcome).retry_after_seconds).toBe(vector.expected['retry_after_seconds']);
    if (outcome.kind === 'no_answer') return;
    const { client_action, code, detail, extras: members, errors } = outcome.problem;
    const { believed: _, retry_after_seconds: __, ...expected } = vector.expected;
    expect({ client_action, code, detail, members, errors }).toEqual({ errors: [], ...expected });
    expect(outcome.problem.status).toBe(vector.status);
  });

  test('only a 4xx with the media type of a problem ever stops the client', () => {
    const stopping = [...problems.of_the_service, ...problems.hostile].filter(
      ({ expected }) => expected['client_action'] === 'stop',
    );
    for (const { status, headers } of stopping) {
      expect(Math.floor(status / 100)).toBe(4);
      expect(headers['content-type']).toMatch(/^application\/problem\+json/i);
    }
  });

  test('the file has a case for every code that a client can receive', () => {
    const codes = problems.of_the_service.map(({ expected }) => expected['code']);
    expect(codes).toEqual(expect.arrayContaining(Object.keys(PROBLEM_MEMBERS)));
  });
});

describe('problems.json, as the service writes it', () => {
  test.each(problems.of_the_service)('$name', ({ status, body, headers, expected }) => {
    const { code, request_id } = body as { code: ProblemCode; request_id: string };
    const { members, errors } = expected as { members: object; errors?: object[] };
    const made = problem(code, { ...members, ...(errors && { errors }) });
    expect(made.status).toBe(status);
    expect(PROBLEMS[code].client_action).toBe(expected['client_action']);
    expect(problemDocument(made, problems.public_url, request_id)).toBe(JSON.stringify(body));
    // A 503 problem has its own retry-after; for a 429 the rate limit adds it.
    if (status !== 429) expect('retry-after' in made.headers).toBe('retry-after' in headers);
  });
});

describe('confirmations.json, as the reference client reads it', () => {
  test.each(confirmations)('$name', async (vector) => {
    const outcome = await readByClient(vector);
    const { believed, ...expected } = vector.expected;
    expect(outcome.kind).toBe(believed ? 'confirmed' : 'no_answer');
    if (outcome.kind === 'confirmed') expect(outcome.confirmation).toEqual(expected);
  });
});

describe('confirmations.json, as the service writes it', () => {
  const dir = temporaryFolder();

  test('the first case is byte for byte what the service answers', async () => {
    const tokens = readVectors<{ key: { d: string; x: string; kid: string }; claims: string }>(
      'license-tokens.json',
    );
    const { kid, d, x } = tokens.key;
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
    writeFileSync(join(dir, 'key.pem'), key.export({ format: 'pem', type: 'pkcs8' }));
    const since = '2026-11-20T13:00:00Z';
    await writeRing(dir, [
      { kid, file: 'key.pem', since, state: 'active' },
      await createTokenKey(dir, 'next', new Date()),
    ]);
    const claims = JSON.parse(tokens.claims) as LicenseClaims;
    const activation = {
      activation_id: claims.sub,
      license_id: claims.lic,
      machine: claims.mch,
      expires_at: new Date(claims.lxp! * 1000),
    };
    const [first] = confirmations;
    const answer = tokenResponse(
      await KeyRing.open(dir),
      claims.aud,
      activation,
      new Date(claims.iat * 1000),
    );
    expect(JSON.stringify(answer)).toBe(JSON.stringify(first!.body));
  });
});
