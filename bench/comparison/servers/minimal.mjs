// The "minimal" server: it answers heartbeats with Fastify, and the manifest before Fastify, by the least code that is needed. It
// reads activations, checks tokens, signs, stores telemetry and prepares the manifest's responses with the service's own functions,
// and has nothing else: no Nest, log, deadline, load shedding or removal of headers.
import pg from 'pg';
import { Clock } from '../../../src/core/clock.js';
import { AppLogger } from '../../../src/core/logger.js';
import { Batch } from '../../../src/database/batch.js';
import { orderRowsByIds, READ_ACTIVATIONS } from '../../../src/heartbeat/activation-reads.js';
import { answerFirst } from '../../../src/http/limits/answer-first.js';
import { problem } from '../../../src/http/problems/problem.js';
import { sendTogether } from '../../../src/http/responses/send-together.js';
import { verifyLicenseToken } from '../../../src/keys/tokens/license-token.js';
import { MANIFEST_PATH, ManifestResponses } from '../../../src/manifest/manifest-responses.js';
import { TelemetryStore } from '../../../src/telemetry/telemetry.store.js';
import { listenWith } from './fastify.mjs';
import { checkLicense, databaseUrl, POOL_SIZE, PRODUCT, ring, tokenResponseFor } from './shared.ts';

const TELEMETRY_TIMEOUT_MS = 10_000;

const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE });
const reads = new Batch(async (ids) => {
  const statement = { name: 'read activations', text: READ_ACTIVATIONS, values: [ids] };
  return orderRowsByIds(ids, (await pool.query(statement)).rows);
});

const dataSource = { driver: { master: pool } };
const config = { telemetryRowsPerDay: Infinity };
const store = new TelemetryStore(dataSource, new Clock(), new AppLogger('fatal'), config);

async function heartbeat({ token, app_version, telemetry }) {
  const claims = verifyLicenseToken(ring, PRODUCT, token);
  if (!claims) throw problem('token_invalid');
  const now = new Date();
  const activation = await reads.add(claims.sub);
  if (!activation) throw problem('token_invalid');
  checkLicense(activation, app_version, now, activation.ended_at);
  const answer = tokenResponseFor({ ...activation, machine: claims.mch }, now);
  if (telemetry === undefined) return answer;
  return { ...answer, telemetry: await store.store(telemetry, TELEMETRY_TIMEOUT_MS) };
}

const manifests = new ManifestResponses({ live: { body: process.env.MANIFEST_BODY } });

const answerManifest = (send) => (request, response) => {
  if (request.url !== MANIFEST_PATH) return false;
  const { status, headers, body } = manifests.respond(request.headers['if-none-match']);
  send(() => response.writeHead(status, headers).end(body));
  return true;
};

export const listen = () =>
  listenWith(pool, (fastify) => {
    fastify.post('/v1/heartbeat', ({ body }) => heartbeat(body));
    answerFirst(fastify.server, answerManifest(sendTogether(fastify.server)));
  });
