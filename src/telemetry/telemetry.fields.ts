import { characterCount, isStorableText } from '../http/parsing/text.js';
import { isVersion } from '../keys/manifests/signed-manifest.js';
import { frameLooksPersonal, looksPersonal } from './personal-data.js';

/** A dotted version with a build part: `3.2.0+451`, `3.2.0 (451)`, `3.2.0-rc.1+451`, `3.2.0.dev0`. */
const BUILD_VERSION = /^\d[0-9A-Za-z]*([.+-][0-9A-Za-z]+)*( ?\([0-9A-Za-z. ]{1,20}\))?$/;

/** A name in code, or what Python calls code without a name. */
const IDENTIFIER = '(?:[A-Za-z_$][\\w$]*|<[a-z]{1,20}>)';
const FRAME = new RegExp(`^${IDENTIFIER}(?:\\.${IDENTIFIER})*:\\d{1,9}$`);

/** A field of the telemetry block: its column's type, and the value to store, or undefined where it is not one. */
interface Field {
  readonly type: 'text' | 'integer';
  readonly read: (value: unknown) => string | number | undefined;
}

/**
 * The closed list of what telemetry may say (seed, 2.2). It drives validation, the insert and docs/privacy.md; the columns
 * stand in the migrations under the same names, and say what it `means`: a test holds them against it. What is not named
 * here is never stored.
 */
export const TELEMETRY_FIELDS = {
  app_version: { means: 'Application version', ...version(isVersion) },
  os_version: { means: 'Operating-system name and version', ...text({ mayHoldVersion: true }) },
  mac_model: { means: 'Hardware model identifier', ...text() },
  arch: { means: 'CPU architecture', ...word() },
  cpu_cores: { means: 'CPU core count', ...count() },
  ram_gb_bucket: { means: 'Memory size bucket in GB', ...text() },
  camera_count: { means: 'Count of cameras, never anything about them', ...count() },
  detector_type: { means: 'Detector backend type', ...word() },
  uptime_hours: { means: 'Uptime in hours', ...count() },
  crash_count_since_last: { means: 'Crashes since the previous heartbeat', ...count() },
  soc_name: { means: 'Name of the system-on-chip', ...text() },
  detector_compute: { means: 'The compute target configured: ane or gpu', ...oneOf('ane', 'gpu') },
  recent_inference_ms: { means: 'Most recent detector latency in milliseconds', ...count() },
  detector_compute_units_resolved: { means: 'Which compute units the detector actually got', ...word() },
  unlock_retry_outcome: {
    means: 'Whether the launch-time license check had to retry, and how it ended',
    ...word(),
  },
  crash_kind: { means: 'After a crash: native, python or unknown', ...oneOf('native', 'python', 'unknown') },
  crash_signal: { means: 'After a native crash: the OS signal name', ...text() },
  crash_label: { means: 'After a crash: faulting binary or exception type', ...text() },
  crash_frame: { means: 'After a crash: application-relative frame, module.path.function:line', ...frame() },
  crash_sig: { means: 'After a crash: 16 hex digits that group like crashes', ...hex16() },
  crash_uptime_secs: { means: 'After a crash: seconds the crashed run had lived', ...count() },
  crash_frame_source: { means: 'After a crash: which rule picked the frame', ...word() },
  crash_app_version: {
    means: 'After a crash: the build whose line numbers the frame belongs to',
    ...version((value) => BUILD_VERSION.test(value) && !looksPersonal(value, true)),
  },
  crash_abort_reason: { means: 'After an abort: its known category, never the message', ...word() },
} as const satisfies Record<string, Field & { readonly means: string }>;

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
    (value) => characterCount(value) <= 120 && value.trim() !== '' && !looksPersonal(value, mayHoldVersion),
  );
}

/** An enumeration whose values the seed leaves open. */
function word(): Field {
  const shape = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$/;
  return textWhere((value) => shape.test(value) && !looksPersonal(value));
}

/**
 * `module.path.function:line`: ASCII identifiers, or a name such as `<lambda>` that Python gives to code without one. The
 * shape leaves no room for another script, an encoding, a hyphen within a name or an IP address. A module may be called
 * `http` or `data`, so a frame is tested against less than a text.
 */
function frame(): Field {
  return textWhere((value) => value.length <= 120 && FRAME.test(value) && !frameLooksPersonal(value));
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
