// The list of a holder's licenses in the "plain" server (plain.mjs: handwritten Fastify and pg).
import { hash } from 'node:crypto';
import { rfc3339, rfc3339OrNull } from '../../../src/core/clock.js';
import { problem } from '../../../src/http/problems/problem.js';
import { licenseStatus } from '../../../src/licenses/license.rules.js';

export async function listLicenses(pool, cookie) {
  const query = async (sql, ...values) => (await pool.query(sql, values)).rows;
  const now = new Date();
  const token = /(?:^|; )mooring_holder=([^;]+)/.exec(cookie ?? '')?.[1] ?? '';
  const [session] = await query(
    `select id, license_id, created_at, expires_at from session where token_hash = $1 and expires_at > $2`,
    hash('sha256', token, 'buffer'),
    now,
  );
  if (!session) throw problem('sign_in_required');
  // As in the service, a session ends after 30 minutes without use, and after 12 hours; it is extended at most once a minute.
  const newExpiry = Math.min(now.getTime() + 1_800_000, session.created_at.getTime() + 43_200_000);
  if (newExpiry - session.expires_at.getTime() >= 60_000)
    await query('update session set expires_at = $2 where id = $1', session.id, new Date(newExpiry));
  const [license] = await query(
    `select l.id, l.key_hint, l.email, l.staff_status, l.expires_at, l.on_expiry, l.machines_allowed,
            p.state as purchase_state
     from license l left join purchase p on p.id = l.purchase_id where l.id = $1`,
    session.license_id,
  );
  const activations = await query(
    `select id, hostname_hint, app_version, activated_at, ended_at, ended_reason
     from activation where license_id = $1 order by ended_at is not null, activated_at desc, id desc`,
    license.id,
  );
  const [erasure] = await query(
    'select id, received_on::text, runs_at from erasure_request where email = $1',
    license.email,
  );
  // The service counts the self-releases too. The result is not used, because the bench allows none.
  await query(
    `select count(*)::int as released from activation
     where license_id = $1 and released_by_holder and ended_at > $2`,
    license.id,
    new Date(now.getTime() - 365 * 86_400_000),
  );
  const requests = await query(
    `select r.activation_id, r.asked_at from release_request r join activation a on a.id = r.activation_id
     where a.license_id = $1 and a.ended_at is null and r.decided_at is null`,
    license.id,
  );
  const requestTimes = new Map(requests.map(({ activation_id, asked_at }) => [activation_id, asked_at]));
  const declined = await query(
    `select distinct on (r.activation_id) r.activation_id, r.decided_at,
            (select e.reason from audit_event e where e.license_id = $1 and e.action = 'release_request.decide'
               and e.change ->> 'release_request_id' = r.id::text) as reason
     from release_request r join activation a on a.id = r.activation_id
     where a.license_id = $1 and a.ended_at is null and r.decision = 'decline'
     order by r.activation_id, r.decided_at desc`,
    license.id,
  );
  const declines = new Map(
    declined.map(({ activation_id, decided_at, reason }) => [
      activation_id,
      { declined_at: rfc3339(decided_at), reason },
    ]),
  );
  return {
    signed_in_by: 'key',
    email: license.email,
    erasure: erasure ? { ...erasure, runs_at: rfc3339(erasure.runs_at) } : null,
    purchases_kept_until: null,
    licenses: [licenseView(license, activations, requestTimes, declines)],
  };
}

function licenseView(
  { id, key_hint, expires_at, on_expiry, machines_allowed, ...facts },
  activations,
  requestTimes,
  declines,
) {
  const { length } = activations.filter(({ ended_at }) => ended_at === null);
  return {
    id,
    key_hint,
    status: licenseStatus(facts),
    expires_at: rfc3339OrNull(expires_at),
    on_expiry,
    machines_allowed,
    machines_in_use: length,
    // The service allows no self-release by default, and the bench keeps that.
    self_releases_left: 0,
    is_key_mailable: true,
    activations: activations.map((activation) => ({
      ...activation,
      activated_at: rfc3339(activation.activated_at),
      state: activation.ended_reason ?? 'active',
      ended_at: rfc3339OrNull(activation.ended_at),
      release_requested_at: rfc3339OrNull(requestTimes.get(activation.id) ?? null),
      release_declined: declines.get(activation.id) ?? null,
    })),
  };
}
