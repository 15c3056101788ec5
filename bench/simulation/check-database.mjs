import { licenseId } from '../load/data.mjs';
import { ACTIVATION, PURCHASE } from './expected-state.mjs';

/**
 * Compares the database with the expected state.
 * @param end the end of the last simulated day
 * @returns the checks, each with what it checks, how many rows or runs it looked at, and how many faults it found
 */
export async function checkDatabase(client, expected, end) {
  const query = async (sql, values) => (await client.query(sql, values)).rows;
  const rows = await query(
    `select id::text, license_id::text, encode(machine_id, 'hex') as machine, ended_reason from activation`,
  );
  return [
    ...checkActivations(new Map(rows.map((row) => [row.id, row])), expected),
    await checkMachineLimits(query),
    await checkTelemetry(query, expected),
    await checkRefunds(query, expected),
    await checkReleases(query, expected),
    await checkRetention(query, end),
  ];
}

function* checkActivations(rows, expected) {
  const { activationId, formerActivations, license, activation, purchase } = expected;
  const wrong = { lost: 0, other: 0 };
  const known = new Set();
  const check = (id, client, reason) => {
    known.add(id);
    const row = rows.get(id);
    if (!row) wrong.lost += 1;
    else if (
      row.license_id !== licenseId(license[client]) ||
      row.machine !== expected.machineId(client) ||
      row.ended_reason !== reason
    )
      wrong.other += 1;
  };
  for (const [client, id] of activationId.entries()) {
    const isRefunded = purchase[license[client]] === PURCHASE.refunded;
    const reason = isRefunded ? 'refunded' : activation[client] === ACTIVATION.released ? 'released' : null;
    if (id !== null) check(id, client, reason);
  }
  for (const [id, client] of formerActivations) check(id, client, 'released');
  yield { what: 'every acknowledged activation is there', seen: known.size, wrong: wrong.lost };
  yield { what: 'each has the license, machine and end of its client', seen: known.size, wrong: wrong.other };
  // An activation whose response was lost is known only after its client has repeated the request.
  const unconfirmed = new Set();
  for (const [client, isUnconfirmed] of expected.unconfirmed.entries())
    if (isUnconfirmed) unconfirmed.add(expected.machineId(client));
  const unknown = [...rows.values()].filter((row) => !known.has(row.id) && !unconfirmed.has(row.machine));
  yield { what: 'no unknown activation', seen: rows.size, wrong: unknown.length };
}

async function checkMachineLimits(query) {
  const [{ seen, wrong }] = await query(
    `select count(*)::int as seen, count(*) filter (where in_use > machines_allowed)::int as wrong
     from (select machines_allowed, count(a.id) filter (where a.ended_at is null) as in_use
           from license l left join activation a on a.license_id = l.id group by l.id)`,
  );
  return { what: 'no license is active on more machines than it allows', seen, wrong };
}

// A row whose heartbeat got no confirmation may be stored or not.
async function checkTelemetry(query, { telemetry: { stored, unconfirmed } }) {
  const [{ seen }] = await query(
    `select (select count(*) from telemetry_inbox)::int + (select count(*) from telemetry)::int as seen`,
  );
  const wrong = Math.max(stored - seen, seen - stored - unconfirmed, 0);
  return { what: 'each acknowledged row of telemetry is stored once', seen, wrong };
}

async function checkRefunds(query, { purchase }) {
  const rows = await query(`select id::text from purchase where state <> 'paid'`);
  const refunded = new Set(rows.map(({ id }) => id));
  const expected = [...purchase.keys()]
    .filter((license) => purchase[license] === PURCHASE.refunded)
    .map(licenseId);
  const missing = expected.filter((id) => !refunded.has(id)).length;
  const wrong = missing + (refunded.size - (expected.length - missing));
  return {
    what: 'the purchases that were reported as refunded are refunded, and no others',
    seen: refunded.size,
    wrong,
  };
}

async function checkReleases(query, { formerActivations, activation }) {
  const [{ seen }] = await query(
    `select count(*)::int as seen from audit_event where action = 'activation.release'`,
  );
  const released = activation.filter((state) => state === ACTIVATION.released).length;
  const expected = formerActivations.size + released;
  return { what: 'every release is in the audit trail once', seen, wrong: Math.abs(seen - expected) };
}

/** The last run comes after the last day, so it must also do the work that earlier runs missed during outages. */
async function checkRetention(query, end) {
  const [{ seen, wrong }] = await query(
    `select count(*)::int as seen, (select count(*)::int from telemetry_inbox where received_on < $1)
       + coalesce((select (finished_at is null or cardinality(failed) > 0)::int
                   from retention_run order by started_at desc limit 1), 1) as wrong
     from retention_run`,
    [new Date(end).toISOString().slice(0, 10)],
  );
  return {
    what: 'the last run of retention succeeded, and left no row of an earlier day in the inbox',
    seen,
    wrong,
  };
}
