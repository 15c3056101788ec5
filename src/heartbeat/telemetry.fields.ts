import { characterCount, isStorableText } from '../http/text.js';
import { isVersion } from '../keys/signed-manifest.js';
import { frameLooksPersonal, looksLikeHost, looksPersonal } from './personal.js';

/** A dotted version with a build part: `3.2.0+451`, `3.2.0 (451)`, `3.2.0-rc.1+451`, `3.2.0.dev0`. */
const BUILD_VERSION = /^\d[0-9A-Za-z]*([.+-][0-9A-Za-z]+)*( ?\([0-9A-Za-z. ]{1,20}\))?$/;

/** A field of the telemetry block: its column's type, and the value to store, or undefined where it is not one. */
interface Field {
  readonly type: 'text' | 'integer';
  readonly read: (value: unknown) => string | number | undefined;
}

/**
 * The closed list of what telemetry may say (seed, 2.2). It drives validation and the insert; the columns stand in the
 * migrations under the same names. What is not named here is never stored.
 */
export const TELEMETRY_FIELDS = {
  app_version: version(isVersion),
  os_version: text({ mayHoldVersion: true }),
  mac_model: text(),
  arch: word(),
  cpu_cores: count(),
  ram_gb_bucket: text(),
  camera_count: count(),
  detector_type: word(),
  uptime_hours: count(),
  crash_count_since_last: count(),
  soc_name: text(),
  detector_compute: oneOf('ane', 'gpu'),
  recent_inference_ms: count(),
  detector_compute_units_resolved: word(),
  unlock_retry_outcome: word(),
  crash_kind: oneOf('native', 'python', 'unknown'),
  crash_signal: text(),
  crash_label: text(),
  crash_frame: frame(),
  crash_sig: hex16(),
  crash_uptime_secs: count(),
  crash_frame_source: word(),
  crash_app_version: version((value) => BUILD_VERSION.test(value) && !looksPersonal(value, true)),
  crash_abort_reason: word(),
} as const satisfies Record<string, Field>;

export type TelemetryName = keyof typeof TELEMETRY_FIELDS;
export const TELEMETRY_NAMES = Object.keys(TELEMETRY_FIELDS) as TelemetryName[];

/** What is stored of a block, a value for each field in the table's order, and which known members were not taken. */
export interface TelemetryReading {
  readonly values: (string | number | null)[];
  readonly dropped: TelemetryName[];
}

/** Reads a block member by member: unknown ones are passed over in silence, known ones with a bad value are named. */
export function readTelemetry(block: Readonly<Record<string, unknown>>): TelemetryReading {
  const dropped: TelemetryName[] = [];
  const values = TELEMETRY_NAMES.map((name) => {
    if (!Object.hasOwn(block, name)) return null;
    const value = TELEMETRY_FIELDS[name].read(block[name]);
    if (value === undefined) dropped.push(name);
    return value ?? null;
  });
  return { values, dropped };
}

function count(): Field {
  const isCount = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0x7fff_ffff;
  return { type: 'integer', read: (value) => (isCount(value) ? value : undefined) };
}

function text({ mayHoldVersion = false } = {}): Field {
  return textWhere(
    (value) =>
      characterCount(value) <= 120 &&
      value.trim() !== '' &&
      !looksLikeHost(value) &&
      !looksPersonal(value, mayHoldVersion),
  );
}

/** An enumeration whose values the seed leaves open. */
function word(): Field {
  const shape = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$/;
  return textWhere((value) => shape.test(value) && !looksLikeHost(value) && !looksPersonal(value));
}

/** `module.path.function:line`. A module may be called `http` or `data`, so it is held against less than a text. */
function frame(): Field {
  const shape = /^[^\s/\\@:]+:\d{1,9}$/;
  return textWhere(
    (value) => characterCount(value) <= 120 && shape.test(value) && !frameLooksPersonal(value),
  );
}

function version(rule: (value: string) => boolean): Field {
  return textWhere((value) => value.length <= 32 && rule(value));
}

function oneOf(...allowed: string[]): Field {
  return textWhere((value) => allowed.includes(value));
}

/** A grouping hash, kept in lower case. */
function hex16(): Field {
  const read = (value: unknown) =>
    typeof value === 'string' && /^[0-9a-f]{16}$/i.test(value) ? value.toLowerCase() : undefined;
  return { type: 'text', read };
}

function textWhere(rule: (value: string) => boolean): Field {
  const isText = (value: unknown): value is string => typeof value === 'string' && isStorableText(value);
  return { type: 'text', read: (value) => (isText(value) && rule(value) ? value : undefined) };
}
