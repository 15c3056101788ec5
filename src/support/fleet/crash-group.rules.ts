import { revisionOf } from '../../core/revision.js';
import { compareBuilds } from '../../telemetry/build-version.js';

/** A resolved group is `open` again if it crashed in the version that resolves it, or in a later one. */
export const CRASH_GROUP_STATES = ['open', 'resolved', 'muted'] as const;
export type CrashGroupState = (typeof CRASH_GROUP_STATES)[number];

/** The state that staff gave a group. */
export interface GivenState {
  readonly state: CrashGroupState;
  /** The version that resolves the crash; null unless the state is `resolved`. */
  readonly resolved_in: string | null;
}

/** The state of a group that has no row. */
export const OPEN: GivenState = { state: 'open', resolved_in: null };

/** Returns the present state of a group. @param versions the versions in which the group crashed */
export function presentState(
  { state, resolved_in }: GivenState,
  versions: readonly string[],
): CrashGroupState {
  const isReopened = resolved_in !== null && versions.some((each) => compareBuilds(each, resolved_in) >= 0);
  return isReopened ? 'open' : state;
}

/** Identifies the state that staff gave a group, for `if-match`. */
export const crashGroupRevision = ({ state, resolved_in }: GivenState): string =>
  revisionOf([state, resolved_in]);
