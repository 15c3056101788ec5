// The "minimal" server: the least that a heartbeat needs with Fastify. It reads activations, checks tokens and signs as the service
// does, with the service's own functions, and has nothing else: no Nest, log, deadline, load shedding or removal of headers.
import pg from 'pg';
import { Batch } from '../../../src/database/batch.js';
import { orderRowsByIds, READ_ACTIVATIONS } from '../../../src/heartbeat/activation-reads.js';
import { problem } from '../../../src/http/problems/problem.js';
import { verifyLicenseToken } from '../../../src/keys/tokens/license-token.js';
import { listenWith } from './fastify.mjs';
import { checkLicense, databaseUrl, POOL_SIZE, PRODUCT, ring, tokenResponseFor } from './shared.ts';

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

export const listen = () =>
  listenWith(pool, (fastify) => {
    fastify.post('/v1/heartbeat', ({ body }) => heartbeat(body));
  });
