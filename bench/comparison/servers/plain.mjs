// The "plain" server: handwritten Fastify and pg, with one query after the other for each request.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { hostnameHintField } from '../../../src/fields/hostname-hint.js';
import { rfc3339, utcDay } from '../../../src/core/clock.js';
import { Invalid } from '../../../src/core/field.js';
import { problem } from '../../../src/http/problems/problem.js';
import { readTelemetry, TELEMETRY_NAMES } from '../../../src/telemetry/telemetry.fields.js';
import { licenseKeyHash } from '../../../src/keys/license-key.js';
import { readLicenseKey } from '../../../src/keys/license-key-text.js';
import { machineDigest } from '../../../src/keys/tokens/license-token.js';
import { isVersion } from '../../../src/keys/manifests/signed-manifest.js';
import { canonicalEmail } from '../../../src/fields/email.js';
import { listenWith } from './fastify.mjs';
import { listLicenses } from './plain-portal.mjs';
import { tokenResponseFor, verifyToken, databaseUrl, checkLicense, POOL_SIZE } from './shared.ts';

const COLUMNS = ['id', 'received_on', ...TELEMETRY_NAMES];
const INSERT_TELEMETRY = `insert into telemetry_inbox (${COLUMNS.join(', ')})
  values (${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')})`;

const READ_ACTIVATION = `
  select a.id as activation_id, a.license_id, a.ended_at,
         l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state
  from activation a join license l on l.id = a.license_id left join purchase p on p.id = l.purchase_id
  where a.id = $1`;

const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE });

async function heartbeat({ token, app_version, telemetry }) {
  if (typeof token !== 'string' || token.length > 2048 || typeof app_version !== 'string')
    throw problem('invalid_request');
  if (!isVersion(app_version)) throw problem('invalid_request');
  const claims = verifyToken(token);
  const now = new Date();
  const [activation] = (await pool.query(READ_ACTIVATION, [claims.sub])).rows;
  if (!activation) throw problem('token_invalid');
  checkLicense(activation, app_version, now, activation.ended_at);
  const answer = tokenResponseFor({ ...activation, machine: claims.mch }, now);
  if (telemetry === undefined) return answer;
  const { values, dropped } = readTelemetry(telemetry);
  await pool.query(INSERT_TELEMETRY, [randomUUID(), utcDay(now), ...values]);
  return { ...answer, telemetry: { stored: true, dropped } };
}

async function activate(body, reply) {
  const key = readLicenseKey(body.license_key);
  const email = canonicalEmail(body.email);
  if (!key || !email || !/^[0-9a-f]{64}$/i.test(body.machine_id) || !isVersion(body.app_version))
    throw problem('invalid_request');
  const hostname_hint = hostnameHintField.parse(body.hostname_hint);
  if (hostname_hint instanceof Invalid) throw problem('invalid_request');
  const machineId = Buffer.from(body.machine_id, 'hex');
  const client = await pool.connect();
  try {
    await client.query('begin');
    const response = await activateMachine(client, { ...body, key, email, machineId, hostname_hint }, reply);
    await client.query('commit');
    return response;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function activateMachine(client, request, reply) {
  const { key, email, machineId, hostname_hint, app_version } = request;
  const now = new Date();
  const [license] = (
    await client.query(
      `select l.id, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state
       from license l left join purchase p on p.id = l.purchase_id
       where l.key_hash = $1 and l.email = $2 for update of l`,
      [licenseKeyHash(key), email],
    )
  ).rows;
  if (!license) throw problem('license_not_found');
  checkLicense(license, app_version, now);
  const [existing] = (
    await client.query(
      `select id, activated_at, hostname_hint from activation
       where license_id = $1 and machine_id = $2 and ended_at is null`,
      [license.id, machineId],
    )
  ).rows;
  const [{ count }] = (
    await client.query(
      'select count(*)::int as count from activation where license_id = $1 and ended_at is null',
      [license.id],
    )
  ).rows;
  if (existing) return activationResponse(license, existing, count, machineId, now);
  if (count >= license.machines_allowed) throw problem('machine_limit_reached', {});
  const created = { id: uuidv7(), activated_at: now, hostname_hint };
  await client.query(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [created.id, license.id, machineId, hostname_hint, app_version, now],
  );
  reply.code(201);
  return activationResponse(license, created, count + 1, machineId, now);
}

function activationResponse({ id, expires_at, machines_allowed }, stored, machines_in_use, machineId, now) {
  const machine = machineDigest(machineId);
  const tokenData = { activation_id: stored.id, license_id: id, machine, expires_at };
  const { license, ...answer } = tokenResponseFor(tokenData, now);
  const { hostname_hint } = stored;
  const activation = { id: stored.id, activated_at: rfc3339(stored.activated_at), hostname_hint };
  return { ...answer, activation, license: { ...license, machines_allowed, machines_in_use } };
}

export const listen = () =>
  listenWith(pool, (fastify) => {
    fastify.post('/v1/heartbeat', ({ body }) => heartbeat(body));
    fastify.post('/v1/activate', ({ body }, reply) => activate(body, reply));
    fastify.get('/portal/api/session', ({ headers }) => listLicenses(pool, headers.cookie));
  });
