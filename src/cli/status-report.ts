import { existsSync } from 'node:fs';
import type { Config } from '../core/config.js';
import { DatabaseHosts } from '../database/database-hosts.js';
import { HOST_ROLES } from '../database/host-warnings.js';
import { queryOne } from '../database/sql.js';
import { openExistingKeyRing, tokenKeysDir } from '../keys/key-material.js';
import type { KeyRing } from '../keys/tokens/key-ring.js';
import { licenseStatus, type LicenseState } from '../licenses/license.rules.js';
import type { EventBacklog, FailingMail } from '../http/responses/api-types.js';
import type { DataAges } from '../monitoring/warnings/data-age.js';
import { packageVersion } from '../core/package-version.js';
import { loadManifestService, type CommandContext } from './context/command-context.js';
import { createWarningsService } from './context/warnings.js';
import { aligned } from './terminal/output.js';

/** The number of licenses that have the same staff status, the same purchase state and the same `is_erased`. */
type LicenseGroup = Pick<LicenseState, 'staff_status' | 'purchase_state'> & {
  readonly is_erased: boolean;
  readonly licenses: number;
};

/** A row of `COUNTS`. */
interface Counts {
  readonly postgres: string;
  readonly migrations: string[];
  readonly license_groups: LicenseGroup[];
  readonly activations: Record<'active' | 'ended', number>;
  readonly telemetry: { rows_estimate: number; inbox_rows: number; oldest_inbox_day: string | null };
  readonly staff: number;
}

// The number of telemetry rows is estimated, because counting the rows of years takes minutes.
const COUNTS = `
  select current_setting('server_version') as postgres,
    (select json_agg(name order by id) from schema_migration) as migrations,
    (select coalesce(json_agg(g), '[]') from (
       select l.staff_status, p.state as purchase_state, l.email is null and l.address_lost_at is null as is_erased, count(*) as licenses
       from license l left join purchase p on p.id = l.purchase_id group by 1, 2, 3) g) as license_groups,
    (select json_build_object('active', count(*) - count(ended_at), 'ended', count(ended_at)) from activation) as activations,
    (select json_build_object(
       'rows_estimate', (select coalesce(sum(s.n_live_tup), 0) from pg_inherits i
                         join pg_stat_user_tables s on s.relid = i.inhrelid where i.inhparent = 'telemetry'::regclass),
       'inbox_rows', count(*), 'oldest_inbox_day', min(received_on))
     from telemetry_waiting) as telemetry,
    (select count(*)::int from staff) as staff`;

/** Reads what `mooring status` prints. */
export async function readStatus(context: CommandContext) {
  const { config, dataSource, databaseUrl } = context;
  const { license_groups, ...counts } = await queryOne<Counts>(dataSource, COUNTS);
  const licenses = { active: 0, suspended: 0, revoked: 0, refunded: 0, erased: 0 };
  for (const group of license_groups)
    licenses[group.is_erased ? 'erased' : licenseStatus(group)] += group.licenses;
  const manifests = await loadManifestService(context);
  const ring = await readKeyRing(config);
  const warnings = await createWarningsService(context, manifests);
  const state = await warnings.readState();
  const content = manifests.live?.content;
  return {
    mooring: packageVersion(),
    node: process.versions.node,
    // The reason why a host cannot be reached is in `mooring doctor`. With one host the list is empty.
    database_hosts: (DatabaseHosts.of(databaseUrl)?.roles ?? []).map(({ host, role }) => ({ host, role })),
    ...counts,
    licenses,
    ...state,
    token_keys: ring.keys.map(({ kid, ...rest }) => ({ key_id: kid, ...rest })),
    manifest: content
      ? { version: content.version, sequence: content.sequence, expires_at: content.expires_at }
      : null,
    warnings: [...warnings.derive(state), ...(ring.lastError ? [ring.lastError] : [])],
  };
}

/** An unreadable key ring becomes a warning, because the operator then needs the rest of the status. */
async function readKeyRing(config: Config): Promise<Pick<KeyRing, 'keys' | 'lastError'>> {
  // In development the first start of the service creates the ring.
  if (!config.tokenKeysDir && !existsSync(tokenKeysDir(config))) return { keys: [], lastError: null };
  return openExistingKeyRing(config).catch(({ message }: Error) => ({ keys: [], lastError: message }));
}

/** Formats the status for a person. */
export function statusText(status: Awaited<ReturnType<typeof readStatus>>): string {
  const { licenses, activations, telemetry, manifest, migrations } = status;
  const rows = [
    ['Versions', `Mooring ${status.mooring}, Node ${status.node}, PostgreSQL ${status.postgres}`],
    ...status.database_hosts.map(({ host, role }) => ['Database', `${host} ${HOST_ROLES[role]}`]),
    ['Migrations', `${migrations.length} applied, the last is ${migrations.at(-1)}`],
    [
      'Licenses',
      Object.entries(licenses)
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
    ],
    ['Activations', `${activations.active} active, ${activations.ended} ended`],
    [
      'Telemetry',
      `about ${telemetry.rows_estimate} rows, ${telemetry.inbox_rows} in the inbox${sinceText(telemetry)}`,
    ],
    ['Oldest data', oldestDaysText(status.ages)],
    ['Next erasure', status.ages.erasure_due ? `due by ${status.ages.erasure_due}` : 'none'],
    ['Staff', `${status.staff}`],
    ...status.erasures.license_ids.map((id) => ['License', `${id} has no e-mail address since a restore`]),
    ['Mail', `${status.mail.waiting} waiting`],
    ...status.mail.failing.map((mail) => ['Undelivered', failingText(mail)]),
    ['Events', eventsText(status.events)],
    ...status.token_keys.map(({ key_id, state, since }) => [
      'Token key',
      `${key_id}  ${state} since ${since}`,
    ]),
    [
      'Manifest',
      manifest
        ? `version ${manifest.version}, sequence ${manifest.sequence}, expires ${manifest.expires_at}`
        : 'none published',
    ],
    ...(status.warnings.length > 0 ? status.warnings : ['none']).map((warning) => ['Warning', warning]),
  ];
  return aligned(rows);
}

function oldestDaysText({ telemetry, ended_activation }: DataAges): string {
  return `telemetry ${telemetry ?? 'none'}, ended activation ${ended_activation ?? 'none'}`;
}

function failingText({ kind, about, reason, attempts, next_attempt_at }: FailingMail): string {
  const next = next_attempt_at ? `next attempt at ${next_attempt_at}` : 'no further attempt';
  return `${kind} of ${about}: ${reason}; attempted ${attempts === 1 ? 'once' : `${attempts} times`}, ${next}`;
}

function eventsText({ is_recording, waiting, failing, given_up, reason }: EventBacklog): string {
  if (!is_recording) return 'not recorded';
  const counts = `${waiting} waiting, ${failing} of them failing, ${given_up} given up`;
  return reason === null ? counts : `${counts}; reason: ${reason}`;
}

function sinceText({ oldest_inbox_day }: Counts['telemetry']): string {
  return oldest_inbox_day ? ` since ${oldest_inbox_day}` : '';
}
