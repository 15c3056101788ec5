import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { Config } from '../../src/core/config.js';
import { Batch } from '../../src/database/batch.js';
import { AppLogger } from '../../src/core/logger.js';
import { problem } from '../../src/http/problems/problem.js';
import { ProblemFilter } from '../../src/http/responses/problem.filter.js';
import { RequestCounts } from '../../src/http/responses/request-counts.js';

let app: FastifyInstance;
let filter: ProblemFilter;
let logged: string[];
let requestCounts: RequestCounts;
beforeEach(() => {
  logged = [];
  requestCounts = new RequestCounts();
  const sink = new Writable({ write: (chunk, _encoding, done) => (logged.push(String(chunk)), done()) });
  filter = new ProblemFilter(new Config({}), new AppLogger('info', sink), requestCounts);
  app = fastify();
  app.setErrorHandler((error, request, reply) => filter.answer(error, request, reply));
});
afterEach(() => app.close());

test('a refusal because a queue is full is counted, and not logged', async () => {
  const [maxItems, maxRunning, maxWaiting] = [1, 1, 0];
  const full = new Batch<string, never>(() => new Promise(() => undefined), maxItems, maxRunning, maxWaiting);
  app.get('/', () => full.add('one too many'));
  const { statusCode, headers } = await app.inject('/');
  expect([statusCode, headers['content-type']]).toEqual([503, 'application/problem+json; charset=utf-8']);
  expect(headers['retry-after']).toMatch(/^\d+$/);
  expect([logged, requestCounts.problems.unavailable]).toEqual([[], 1]);
});

test('an error after the response was sent is logged, and not counted as a refusal', async () => {
  app.get('/', (request, reply) => {
    reply.send(problem('unavailable'));
    filter.answer(new Error('late'), request, reply);
    return reply;
  });
  const { statusCode } = await app.inject('/');
  expect([statusCode, requestCounts.problems.unavailable, requestCounts.problems.internal_error]).toEqual([
    503, 1, 0,
  ]);
  expect(logged).toEqual([expect.stringContaining('internal_error')]);
});

test('a problem collects no stack trace, and other errors still do', () => {
  expect(problem('unavailable').stack).toBe('Error: unavailable');
  expect(new Error('other').stack).toContain('\n    at ');
});
