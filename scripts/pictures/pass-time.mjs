// Makes the sample data as old as that of a service that has run for months.

/**
 * The columns that move: the times of what happened, and times that were computed from them (`runs_at`, `expires_at` of tokens).
 * The expiry of a license, sessions, codes and the telemetry keep theirs.
 */
const PAST_TIMES = {
  activation: ['activated_at', 'ended_at'],
  audit_event: ['at'],
  erasure_request: ['received_on', 'runs_at', 'honoured_at', 'cancelled_at'],
  license: ['created_at', 'ended_at', 'end_changed_at', 'email_since'],
  passkey: ['created_at'],
  purchase: ['recorded_on'],
  release_request: ['asked_at', 'decided_at'],
  replaced_key: ['replaced_at'],
  staff: ['created_at'],
  staff_token: ['created_at', 'expires_at'],
};
/**
 * The action of audit events that keep their time: `publishVersions` dates publications to match the weekly counts of telemetry.
 */
const PUBLICATION = 'manifest.publish';

/**
 * Moves the time of everything that has happened back by a number of days.
 * @param client of pg, connected as a superuser
 */
export async function passDays(client, days) {
  // The triggers that make the audit trail append-only do not run for this connection.
  await client.query('set session_replication_role = replica');
  for (const [table, columns] of Object.entries(PAST_TIMES)) {
    const changes = columns.map((column) => `${column} = ${column} - make_interval(secs => $1)`);
    const kept = table === 'audit_event' ? ` where action <> '${PUBLICATION}'` : '';
    await client.query(`update ${table} set ${changes.join(', ')}${kept}`, [days * 86_400]);
  }
}

/** Moves the publication of a version, and its event of the audit trail, to a number of weeks before now. */
export async function movePublication(client, version, weeksAgo) {
  await client.query('set session_replication_role = replica');
  // The versions are published at different times of day.
  const age = 'make_interval(days => $2::integer * 7, mins => $2::integer * 37)';
  await client.query(
    `update manifest set published_at = now() - ${age} where signed::json ->> 'version' = $1`,
    [version, weeksAgo],
  );
  await client.query(
    `update audit_event set at = now() - ${age} where action = '${PUBLICATION}' and change ->> 'version' = $1`,
    [version, weeksAgo],
  );
}
