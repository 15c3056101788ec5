// The "minimal" server: the least that a heartbeat needs with Fastify. It reads activations, checks tokens and signs as the service
// does, with the service's own functions, and has nothing else: no Nest, log, deadline, load shedding or removal of headers.
import Fastify from 'fastify';
import pg from 'pg';
import { Batch } from '../../../src/database/batch.js';
import { orderRowsByIds, READ_ACTIVATIONS } from '../../../src/heartbeat/activation-reads.js';
import { problem } from '../../../src/http/problems/problem.js';
import { verifyLicenseToken } from '../../../src/keys/tokens/license-token.js';
import {
  checkLicense,
  databaseUrl,
  loadVersions,
  POOL_SIZE,
  PRODUCT,
  ring,
  tokenResponseFor,
} from './shared.ts';

const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE });
const reads = new Batch(async (ids) => {
  const statement = { name: 'read activations', text: READ_ACTIVATIONS, values: [ids] };
  return orderRowsByIds(ids, (await pool.query(statement)).rows);
});

async function heartbeat({ token, app_version }) {
  const claims = verifyLicenseToken(ring, PRODUCT, token);
  if (!claims) throw problem('token_invalid');
  const now = new Date();
  const activation = await reads.add(claims.sub);
  if (!activation) throw problem('token_invalid');
  checkLicense(activation, app_version, now, activation.ended_at);
  return tokenResponseFor({ ...activation, machine: claims.mch }, now);
}

export async function listen() {
  const { rows } = await pool.query('select signed from manifest order by sequence desc limit 1');
  loadVersions(rows[0].signed);
  const fastify = Fastify();
  fastify.setErrorHandler((error, _request, reply) =>
    reply.code(error.status ?? 500).send({ code: error.code ?? 'internal_error' }),
  );
  fastify.post('/v1/heartbeat', ({ body }) => heartbeat(body));
  await fastify.listen({ port: 0, host: '127.0.0.1' });
  return fastify.server.address().port;
}
