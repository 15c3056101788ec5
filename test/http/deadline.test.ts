import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { enforceDeadline } from '../../src/http/limits/deadline.js';
import { Problem } from '../../src/http/problems/problem.js';
import { LIMITS_OF_PRODUCTION, withLimits } from '../support/limits.js';

test('a call of a client that takes too long gets 503; a call of a page and a health check have no deadline', async () => {
  const app = fastify();
  app.setErrorHandler((error: Error, _request, reply) =>
    reply.code(error instanceof Problem ? error.status : 500).send(),
  );
  enforceDeadline(app);
  const work = Promise.withResolvers<string>();
  const paths = ['/support/api/licenses', '/health/ready', '/v1/activate'];
  for (const path of paths)
    app.post(path, () => {
      app.server.emit(path);
      return work.promise;
    });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    // The client's call is sent last: a deadline of the other two calls, which would be a bug, would expire first.
    const answers: Promise<Response>[] = [];
    await withLimits(LIMITS_OF_PRODUCTION, async () => {
      for (const path of paths) {
        const begun = once(app.server, path);
        answers.push(fetch(url + path, { method: 'POST' }));
        await begun;
      }
    });
    const client = await answers.pop()!;
    work.resolve('done');
    const others = await Promise.all(answers);
    expect([client, ...others].map(({ status }) => status)).toEqual([503, 200, 200]);
  } finally {
    work.resolve('done');
    await app.close();
  }
});
