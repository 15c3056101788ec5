import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PROBLEMS, type ProblemCode } from '../src/http/problems/problem.js';
import { activation, call, Service } from '../test/support/harness.js';
import {
  problemResponses,
  readDocument,
  useKeyPatternWithoutU,
  useUnmatchablePattern,
  type ProblemResponse,
} from './documents.js';
import { accepted, Prism, sendThrough } from './prism.js';
import { problemAnswers, Upstream, type UpstreamAnswer } from './upstream.js';
import { temporaryFolder } from '../test/support/folders.js';

/*
 * Each problem of the catalogue passes through Prism at each operation for which the document lists it, including the problems
 * with which a running service rarely answers. To show that Prism detects faults, other tests use faulty answers, and a
 * document with two faults that docs/openapi.yaml once had.
 */

/** Headers that satisfy the security requirements of every operation. */
const CREDENTIALS = {
  authorization: 'Bearer a-token',
  cookie: 'mooring_holder=a-session; mooring_staff=a-session',
  'webhook-id': 'msg_1',
  'webhook-timestamp': '1795179600',
  'webhook-signature': 'v1,AAAA',
};
/** An imported license key with the letter U, which is no symbol of the keys that the service creates. */
const U_KEY = 'SHOP_U0UU-2345-6789-UUUU';

const directory = temporaryFolder();
const document = readDocument();
const documentedProblems = problemResponses(document);
let upstream: Upstream;
/** Prism with the document. */
let correct: Prism;
/** Prism with the faulty document. */
let faulty: Prism;

beforeAll(async () => {
  upstream = await Upstream.start();
  const changed = readDocument();
  useUnmatchablePattern(changed, 'license_not_found');
  useKeyPatternWithoutU(changed);
  [correct, faulty] = await Promise.all([
    Prism.startInFrontOf(upstream.url, {
      document: writeDocument('correct', document),
      validatesRequests: false,
    }),
    Prism.startInFrontOf(upstream.url, {
      document: writeDocument('faulty', changed),
      validatesRequests: true,
    }),
  ]);
});
afterAll(async () => {
  await Prism.closeAll();
  await upstream?.close();
  console.log(`Prism accepted ${accepted.answers} problems.`);
});

function writeDocument(name: string, content: object): string {
  const path = join(directory, `${name}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

/** A path keeps each parameter that has no value here, and its test then fails. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
  crash_sig: '0123456789abcdef',
  tag: 'de',
  page: 'portal',
};

/** Sends a request through Prism to an upstream server that gives this answer. */
async function expectAnswer(
  prism: Prism,
  { method, path }: ProblemResponse,
  answer: UpstreamAnswer,
): Promise<void> {
  upstream.answer = answer;
  const requestPath = path.replaceAll(/\{(\w+)\}/g, (all, name: string) => PATH_PARAMETERS[name] ?? all);
  const { status, text } = await sendThrough(prism, method, requestPath, undefined, CREDENTIALS);
  expect([upstream.received?.method, upstream.received?.path]).toEqual([method, requestPath]);
  expect([status, JSON.parse(text)]).toEqual([answer.status, JSON.parse(answer.text)]);
}

describe('each problem of the catalogue', () => {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];

  test('is described for an operation of the document', () => {
    expect([...new Set(documentedProblems.map(({ code }) => code))].toSorted()).toEqual(codes.toSorted());
  });

  test.each(codes)('%s is accepted at each operation that describes it', async (code) => {
    for (const operation of documentedProblems.filter((candidate) => candidate.code === code)) {
      for (const answer of problemAnswers(code)) await expectAnswer(correct, operation, answer);
    }
  });
});

test('the answer of the service to a method that a route lacks is accepted (Prism does not forward such a request)', async () => {
  const service = await Service.start();
  const { status, headers, text } = await call(service.url, 'DELETE', '/v1/manifest');
  expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
  const operation = documentedProblems.find(({ code }) => code === 'method_not_allowed')!;
  const { connection: _, 'keep-alive': __, 'content-length': ___, ...kept } = headers;
  await expectAnswer(correct, operation, { status, headers: kept, text });
  await service.close();
});

const operation = documentedProblems.find(
  ({ path, code }) => path === '/v1/activate' && code === 'license_not_found',
)!;
const [answer] = problemAnswers('license_not_found') as [UpstreamAnswer];

test('an answer with a member that a later version adds is accepted', async () => {
  const text = answer.text.replace('{', '{"added_later":1,');
  await expectAnswer(correct, operation, { ...answer, text });
});

describe('Prism refuses', () => {
  const activate = (prism: Prism, license_key: string) => {
    const body = activation({ license_key, email: 'ada@example.com' });
    return sendThrough(prism, 'POST', '/v1/activate', body);
  };

  test('a problem if the merged pattern of the document matches no text', async () => {
    upstream.answer = answer;
    await activate(correct, 'MOOR_E6S7-Z8KJ-TB3R-QKX6');
    const refused = activate(faulty, 'MOOR_E6S7-Z8KJ-TB3R-QKX6');
    await expect(refused).rejects.toThrow(/500: .*response.*body.*type.*must match pattern/);
  });

  test('a license key with U if the pattern of the document excludes U', async () => {
    upstream.answer = answer;
    await activate(correct, U_KEY);
    upstream.received = undefined;
    await expect(activate(faulty, U_KEY)).rejects.toThrow(/422: .*license_key.*must match pattern/);
    expect(upstream.received).toBeUndefined();
  });

  const broken: [string, Partial<UpstreamAnswer>][] = [
    ['an answer without a required member', { text: answer.text.replace('"request_id"', '"x"') }],
    ['an answer with another code', { text: answer.text.replaceAll('license_not_found', 'not_found') }],
    ['an answer without a required header', { headers: { 'content-type': 'application/problem+json' } }],
    ['an answer with another media type', { headers: { ...answer.headers, 'content-type': 'text/plain' } }],
    ['an answer with a status that is not described', { status: 418 }],
  ];
  test.each(broken)('%s', async (_name, change) => {
    const wrong = expectAnswer(correct, operation, { ...answer, ...change });
    await expect(wrong).rejects.toThrow(/^POST \/v1\/activate \d+: .*(response|violation)/i);
  });
});
