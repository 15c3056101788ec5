import { isObject, parseObject, type Members } from './json.js';
import type { StoredTime } from './seen-time.js';
import type { CrashSignature } from './telemetry.js';
import { parseTime } from './time.js';

const MAX_TOKEN_LENGTH = 2048;

/** What the user typed to activate. */
export interface Activation {
  license_key: string;
  email: string;
  hostname_hint: string | null;
}

/** The license as it was activated, with the values of the last confirmation. */
export interface StoredLicense extends Activation {
  token: string;
  offline_until: string;
  expires_at: string | null;
}

/** The license, machine and version that were refused. */
export interface Refused {
  license_key: string;
  /** The `mch` claim of a token of the machine; undefined if its machine id cannot be read. */
  mch: string | undefined;
  app_version: string;
}

/** The refusal that stopped the application. An earlier client did not store what was refused. */
export interface StoredStop extends Partial<Refused> {
  code: string;
  detail: string;
  extras: Readonly<Record<string, unknown>>;
}

/** The highest manifest sequence seen with one key, and the SHA-256 (hex) of the signed bytes of that manifest. */
export interface SeenSequence {
  sequence: number;
  digest: string;
}

/** All data that the client stores, in one file. */
export interface State {
  version: 1;
  license: StoredLicense | null;
  stopped: StoredStop | null;
  time: StoredTime;
  crash: CrashSignature | null;
  sequences: Record<string, SeenSequence>;
}

export function emptyState(): State {
  return {
    version: 1,
    license: null,
    stopped: null,
    time: { highest_seen: null, clock_ahead_seconds: 0 },
    crash: null,
    sequences: {},
  };
}

type Names = ReadonlySet<keyof State>;

/**
 * Returns the stored state with the members that this process has changed, except those of `outdatedMembers`. Sequences are
 * combined by `highestOf`.
 * @param late the changed members whose write failed before
 */
export function withChanges(stored: State, state: State, changed: Names, late: Names): State {
  const outdated = outdatedMembers(stored, state, (name) => changed.has(name) && !late.has(name));
  const names = [...changed].filter((name) => !outdated.includes(name));
  const own = Object.fromEntries(names.map((name) => [name, state[name]])) as Partial<State>;
  // The client never deletes a license. If the file has none, another process without a license replaced the file.
  const license = stored.license ?? state.license;
  return { ...stored, license, ...own, sequences: highestOf(stored.sequences, state.sequences) };
}

/**
 * Returns the members whose stored values are newer than those of this process. If another process was confirmed later, that
 * confirmation has also corrected the clock values, and ended a stop whose write failed here. Only a license or a stop that this
 * process has received since its last write (`isNew`) is newer than that confirmation.
 */
function outdatedMembers(
  stored: State,
  state: State,
  isNew: (name: keyof State) => boolean,
): (keyof State)[] {
  if (!stored.license || !state.license || isNew('license')) return [];
  if (Date.parse(stored.license.offline_until) <= Date.parse(state.license.offline_until)) return [];
  return isNew('stopped') ? ['license', 'time'] : ['license', 'time', 'stopped'];
}

/** Returns for each key the higher of two sequences, or the stored one if they are equal. */
export function highestOf(stored: State['sequences'], seen: State['sequences']): State['sequences'] {
  const higher = Object.entries(seen).filter(
    ([key, { sequence }]) => sequence > (stored[key]?.sequence ?? -Infinity),
  );
  return { ...stored, ...Object.fromEntries(higher) };
}

/** Reads what the client stored; undefined for any other text. Never throws. */
export function parseState(text: string): State | undefined {
  const value = parseObject(text);
  if (value?.['version'] !== 1) return undefined;
  const { license = null, stopped = null, time, crash = null, sequences } = value;
  if (license !== null && !isLicense(license)) return undefined;
  if (stopped !== null && !isStop(stopped)) return undefined;
  return {
    version: 1,
    license,
    stopped,
    time: isTime(time) ? time : emptyState().time,
    crash: isObject(crash) ? (crash as CrashSignature) : null,
    sequences: isObject(sequences) ? sequencesOf(sequences) : {},
  };
}

/**
 * Whether a value is the text of a token. The service answers a heartbeat with any other value with `fix`, never with `reactivate`,
 * so the value would never be replaced.
 */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TOKEN_LENGTH;
}

function isLicense(value: unknown): value is StoredLicense {
  if (!isObject(value)) return false;
  const hasTexts = ['license_key', 'email'].every((name) => typeof value[name] === 'string');
  const { token, hostname_hint, offline_until, expires_at } = value;
  return (
    hasTexts &&
    isToken(token) &&
    (hostname_hint === null || typeof hostname_hint === 'string') &&
    isInstant(offline_until) &&
    (expires_at === null || isInstant(expires_at))
  );
}

function isStop(value: unknown): value is StoredStop {
  return (
    isObject(value) &&
    typeof value['code'] === 'string' &&
    typeof value['detail'] === 'string' &&
    isObject(value['extras'])
  );
}

function isTime(value: unknown): value is StoredTime {
  if (!isObject(value) || !Number.isFinite(value['clock_ahead_seconds'])) return false;
  return value['highest_seen'] === null || isInstant(value['highest_seen']);
}

function isInstant(value: unknown): value is string {
  return parseTime(value) !== undefined;
}

function sequencesOf(value: Members): Record<string, SeenSequence> {
  const valid = Object.entries(value).filter(
    ([, seen]) =>
      isObject(seen) && Number.isSafeInteger(seen['sequence']) && typeof seen['digest'] === 'string',
  );
  return Object.fromEntries(valid) as Record<string, SeenSequence>;
}
