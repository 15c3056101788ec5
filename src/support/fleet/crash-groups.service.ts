import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../audit/audit.js';
import { Clock, rfc3339OrNull } from '../../core/clock.js';
import { execute, queryOne, queryRow, queryRows } from '../../database/sql.js';
import { invalidMembers, problem } from '../../http/problems/problem.js';
import { lockStaff } from '../../staff/links/staff-links.js';
import type { AuthenticatedStaff } from '../../staff/identity/staff-identity.js';
import { readCrashGroups, readCrashVersions } from '../../telemetry/crash-groups.queries.js';
import { crashGroupRevision, OPEN, presentState } from './crash-group.rules.js';
import type { CrashGroupState, GivenState } from './crash-group.rules.js';
import type { CrashGroupChangeRequest } from './crash-groups.dto.js';

/** A stored state. */
interface StateRow extends GivenState {
  readonly crash_sig: string;
  /** The e-mail address of the staff member; null once that person is removed. */
  readonly changed_by: string | null;
  readonly changed_at: Date;
}

interface LastWeek {
  /** Null for a group without counts. */
  readonly last_week_end: string | null;
}

const SELECT_STATES = `
  select crash_sig, state, resolved_in, email as changed_by, changed_at
  from crash_group_state left join staff on staff.id = changed_by`;

const SELECT_STATE = 'select state, resolved_in from crash_group_state where crash_sig = $1';
const INSERT_STATE = `
  insert into crash_group_state (crash_sig, state, resolved_in, changed_by, changed_at, last_week_end)
  values ($1, $2, $3, $4, $5, $6)`;

// The table is locked, because a group without a stored state has no row to lock. Reads do not wait for this lock, and the deletion
// of an expired state waits only until this transaction ends.
const LOCK_STATES = 'lock table crash_group_state in share row exclusive mode';
const SELECT_LAST_WEEK = 'select max(week_end)::text as last_week_end from crash_week where crash_sig = $1';

/** Crash groups and their states: open, resolved in a version, or muted (docs/operations/fleet.md). */
@Injectable()
export class CrashGroupsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Reads the groups of the last `weeks` counted weeks that have this state. */
  async list(weeks: number, state: CrashGroupState) {
    const rows = await queryRows<StateRow>(this.dataSource, SELECT_STATES);
    const given = new Map(rows.map((row) => [row.crash_sig, row]));
    const versions = await readCrashVersions(this.dataSource, [...given.keys()]);
    const stateOf = (sig: string) => presentState(given.get(sig) ?? OPEN, versions.get(sig) ?? []);
    const includesOnlySigs = state !== 'open';
    // Most open groups have no row, so the open groups are read as all groups except those in another state.
    const sigs = [...given.keys()].filter((sig) =>
      includesOnlySigs ? stateOf(sig) === state : stateOf(sig) !== 'open',
    );
    const groups = await readCrashGroups(this.dataSource, weeks, { sigs, includesOnlySigs });
    return groups.map((group) => ({ ...group, ...toStateView(state, given.get(group.crash_sig)) }));
  }

  /**
   * Gives a group a state.
   * @param revisions the revisions (`crashGroupRevision`) on which the change may be based; undefined accepts every revision
   * @throws Problem `not_found` for a group without counts and for a removed person, `crash_group_changed`, `invalid_request` if
   *   the group crashed in `resolved_in` or in a later version
   */
  async set(
    crash_sig: string,
    { state, resolved_in: version, reason }: CrashGroupChangeRequest,
    staff: AuthenticatedStaff,
    revisions?: readonly string[],
  ) {
    if (!/^[0-9a-f]{16}$/.test(crash_sig)) throw problem('not_found');
    const resolved_in = version ?? null;
    return this.dataSource.transaction(async (manager) => {
      // The row of the person is locked first, as in each removal of a person, which then sets `changed_by` to null in this table.
      await lockStaff(manager, staff.id);
      await execute(manager, LOCK_STATES);
      const { last_week_end } = await queryOne<LastWeek>(manager, SELECT_LAST_WEEK, [crash_sig]);
      if (last_week_end === null) throw problem('not_found');
      const before = (await queryRow<GivenState>(manager, SELECT_STATE, [crash_sig])) ?? OPEN;
      if (revisions && !revisions.includes(crashGroupRevision(before))) throw problem('crash_group_changed');
      const versions = (await readCrashVersions(manager, [crash_sig])).get(crash_sig) ?? [];
      if (presentState({ state, resolved_in }, versions) !== state)
        throw invalidMembers({
          resolved_in: 'must be newer than the last version in which the group crashed',
        });
      const at = this.clock.now();
      await execute(manager, 'delete from crash_group_state where crash_sig = $1', [crash_sig]);
      if (state !== 'open')
        await execute(manager, INSERT_STATE, [crash_sig, state, resolved_in, staff.id, at, last_week_end]);
      const change = {
        crash_sig,
        state,
        ...(resolved_in !== null && { resolved_in }),
        before: { state: before.state, resolved_in: before.resolved_in },
      };
      await recordAudit(manager, { actor: staff.email, reason }, { action: 'crash_group.set', change, at });
      const given = { crash_sig, state, resolved_in, changed_by: staff.email, changed_at: at };
      return { crash_sig, ...toStateView(state, state === 'open' ? undefined : given) };
    });
  }
}

/** @param row the stored state; undefined for a group without one */
function toStateView(state: CrashGroupState, row: StateRow | undefined) {
  return {
    state,
    resolved_in: row?.resolved_in ?? null,
    changed_by: row?.changed_by ?? null,
    changed_at: rfc3339OrNull(row?.changed_at ?? null),
    revision: crashGroupRevision(row ?? OPEN),
  };
}
