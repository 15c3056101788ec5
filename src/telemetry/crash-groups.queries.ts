import { DataSource, EntityManager } from 'typeorm';
import { queryRows } from '../database/sql.js';
import { compareBuilds } from './build-version.js';
import { MAX_SHOWN_CRASH_GROUPS } from './max-shown-crash-groups.js';

interface CrashRow {
  readonly crash_sig: string;
  readonly crash_label: string | null;
  readonly crash_frame: string | null;
  readonly weeks: { week_end: string; crashes: number }[];
}

// Selects the largest groups before it aggregates them. After the first step, each reads only the result of the one before. Without
// joins, outdated planner statistics cannot lead to a slow plan.
const READ_CRASH_GROUPS = `
  with counted as (
    select *, sum(crashes) over (partition by crash_sig) as total from crash_week
    where (crash_sig = any($2)) = $3 and week_end >= (select min(week_end) from
      (select week_end from fleet_week order by week_end desc limit $1) requested)),
  ranked as (select *, dense_rank() over (order by total desc, crash_sig) as size_rank from counted),
  weekly as (
    select crash_sig, total, week_end, sum(crashes)::integer as crashes,
      (array_agg(crash_label order by crashes desc) filter (where crash_label is not null))[1] as crash_label,
      (array_agg(crash_frame order by crashes desc) filter (where crash_frame is not null))[1] as crash_frame
    from ranked where size_rank <= ${MAX_SHOWN_CRASH_GROUPS} group by 1, 2, 3)
  select crash_sig,
    (array_agg(crash_label order by week_end desc) filter (where crash_label is not null))[1] as crash_label,
    (array_agg(crash_frame order by week_end desc) filter (where crash_frame is not null))[1] as crash_frame,
    json_agg(json_build_object('week_end', week_end, 'crashes', crashes) order by week_end desc) as weeks
  from weekly group by crash_sig, total order by total desc, crash_sig`;

const READ_CRASH_VERSIONS = `
  select crash_sig, array_agg(distinct app_version) as versions
  from crash_week where crash_sig = any($1) and app_version is not null group by crash_sig`;

/** Which groups are read: only the named ones, or all but these. */
interface CrashGroupFilter {
  readonly sigs: readonly string[];
  readonly includesOnlySigs: boolean;
}

/**
 * Reads the largest crash groups of the last `weeks` counted weeks, at most `MAX_SHOWN_CRASH_GROUPS`, the largest
 * first. The first and the last version are those of all counted weeks, so that they do not depend on the number of
 * weeks.
 */
export async function readCrashGroups(dataSource: DataSource, weeks: number, filter: CrashGroupFilter) {
  const groups = await queryRows<CrashRow>(dataSource, READ_CRASH_GROUPS, [
    weeks,
    filter.sigs,
    filter.includesOnlySigs,
  ]);
  const versions = await readCrashVersions(
    dataSource,
    groups.map(({ crash_sig }) => crash_sig),
  );
  return groups.map(({ weeks: crashesByWeek, ...group }) => {
    const ofGroup = versions.get(group.crash_sig) ?? [];
    return {
      ...group,
      first_version: ofGroup[0] ?? null,
      last_version: ofGroup.at(-1) ?? null,
      weeks: crashesByWeek,
    };
  });
}

/** Reads the versions in which groups crashed in any counted week, the oldest first. A group without a version is left out. */
export async function readCrashVersions(
  connection: DataSource | EntityManager,
  sigs: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await queryRows<{ crash_sig: string; versions: string[] }>(connection, READ_CRASH_VERSIONS, [
    sigs,
  ]);
  return new Map(rows.map(({ crash_sig, versions }) => [crash_sig, versions.toSorted(compareBuilds)]));
}
