import { licenseId } from '../load/data.mjs';
import { BINDING, SALE } from './expected-state.mjs';

/**
 * Holds what is left in the database against what was acknowledged.
 * @param end the moment when the last day was over
 * @returns what was looked at, what was seen, and how many are wrong
 */
export async function checkDatabase(client, expected, end) {
  const ask = async (sql, values) => (await client.query(sql, values)).rows;
  const rows = await ask(
    `select id::text, license_id::text, encode(machine_id, 'hex') as machine, ended_reason from activation`,
  );
  return [
    ...activations(new Map(rows.map((row) => [row.id, row])), expected),
    await limits(ask),
    await telemetry(ask, expected),
    await refunds(ask, expected),
    await releases(ask, expected),
    await retention(ask, end),
  ];
}

function* activations(rows, expected) {
  const { id, former, license, binding, sale } = expected;
  const wrong = { lost: 0, other: 0 };
  const known = new Set();
  const look = (activation, client, reason) => {
    known.add(activation);
    const row = rows.get(activation);
    if (!row) wrong.lost += 1;
    else if (
      row.license_id !== licenseId(license[client]) ||
      row.machine !== expected.machineId(client) ||
      row.ended_reason !== reason
    )
      wrong.other += 1;
  };
  for (const [client, activation] of id.entries()) {
    const isRefunded = sale[license[client]] === SALE.refunded;
    const reason = isRefunded ? 'refunded' : binding[client] === BINDING.released ? 'released' : null;
    if (activation !== null) look(activation, client, reason);
  }
  for (const [activation, client] of former) look(activation, client, 'released');
  yield { what: 'every acknowledged activation is there', seen: known.size, wrong: wrong.lost };
  yield { what: 'as its client knows it: license, machine, end', seen: known.size, wrong: wrong.other };
  // One whose answer was lost is known once its client has asked again, and never before.
  const unsure = new Set();
  for (const [client, is] of expected.unsure.entries()) if (is) unsure.add(expected.machineId(client));
  const orphans = [...rows.values()].filter((row) => !known.has(row.id) && !unsure.has(row.machine)).length;
  yield { what: 'no unknown activation', seen: rows.size, wrong: orphans };
}

async function limits(ask) {
  const [{ seen, wrong }] = await ask(
    `select count(*)::int as seen, count(*) filter (where in_use > machines_allowed)::int as wrong
     from (select machines_allowed, count(a.id) filter (where a.ended_at is null) as in_use
           from license l left join activation a on a.license_id = l.id group by l.id)`,
  );
  return { what: 'no license on more machines than it allows', seen, wrong };
}

// A row whose commit was cut off may be there or not: no answer confirmed it.
async function telemetry(ask, { telemetry: { stored, unsure } }) {
  const [{ seen }] = await ask(
    `select (select count(*) from telemetry_inbox)::int + (select count(*) from telemetry)::int as seen`,
  );
  const wrong = Math.max(stored - seen, seen - stored - unsure, 0);
  return { what: 'each acknowledged row of telemetry is there, once', seen, wrong };
}

async function refunds(ask, { sale }) {
  const rows = await ask(`select id::text from purchase where state <> 'paid'`);
  const there = new Set(rows.map(({ id }) => id));
  const wanted = [...sale.keys()].filter((license) => sale[license] === SALE.refunded).map(licenseId);
  const missing = wanted.filter((id) => !there.has(id)).length;
  const wrong = missing + (there.size - (wanted.length - missing));
  return { what: 'exactly the refunded licenses are refunded', seen: there.size, wrong };
}

async function releases(ask, { former, binding }) {
  const [{ seen }] = await ask(
    `select count(*)::int as seen from audit_event where action = 'activation.release'`,
  );
  const wanted = former.size + binding.filter((each) => each === BINDING.released).length;
  return { what: 'every release is in the audit trail, once', seen, wrong: Math.abs(seen - wanted) };
}

/** The last run comes after the last day: whatever outages kept from earlier ones, it has made up for. */
async function retention(ask, end) {
  const [{ seen, wrong }] = await ask(
    `select count(*)::int as seen, (select count(*)::int from telemetry_inbox where received_on < $1)
       + coalesce((select (finished_at is null or cardinality(failed) > 0)::int
                   from retention_run order by started_at desc limit 1), 1) as wrong
     from retention_run`,
    [new Date(end).toISOString().slice(0, 10)],
  );
  return { what: 'after the last run of retention nothing waits in the inbox', seen, wrong };
}
