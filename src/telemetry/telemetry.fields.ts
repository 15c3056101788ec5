import { characterCount, isStorableText } from '../core/text.js';
import { isVersion } from '../keys/manifests/signed-manifest.js';
import { frameLooksPersonal, looksPersonal } from './personal-data.js';

/** A version, with or without a build part: `3.2.0`, `3.2.0+451`, `3.2.0 (451)`, `3.2.0-rc.1+451`, `3.2.0.dev0`. */
const BUILD_VERSION = /^\d[0-9A-Za-z]*([.+-][0-9A-Za-z]+)*( ?\([0-9A-Za-z. ]{1,20}\))?$/;

/** An identifier in source code, or the name that Python gives to code without one. */
const IDENTIFIER = '(?:[A-Za-z_$][\\w$]*|<[a-z]{1,20}>)';
const FRAME = new RegExp(`^${IDENTIFIER}(?:\\.${IDENTIFIER})*:\\d{1,9}$`);

/** The column type of a field, and the function that returns the value to store, or undefined for an invalid value. */
interface ValueRule {
  readonly type: 'text' | 'integer';
  readonly read: (value: unknown) => string | number | undefined;
}

interface TelemetryField extends ValueRule {
  /** The meaning of the field in docs/privacy.md and in the comments of its columns. */
  readonly meaning: string;
  /**
   * The dimension of the weekly counts (`fleet_cell.dimension`). Two fields with the same dimension are counted as
   * pairs.
   */
  readonly dimension?: string;
}

/**
 * The closed list of telemetry fields (docs/privacy.md#telemetry). A member that is not listed is never stored.
 *
 * The insert, the weekly counts (`DIMENSIONS`), the fleet queries and docs/privacy.md are created from this table, and the
 * statements that empty the inbox name no field. A new field is added in eight places:
 *
 * 1. this table;
 * 2. a migration: the column and its comment in `telemetry_inbox`, `telemetry_inbox_draining` (both `set statistics 0`) and
 *    `telemetry`;
 * 3. docs/openapi.yaml: the schema `Telemetry` and the values of `dropped`;
 * 4. docs/clients.md: the table of members;
 * 5. client/src/telemetry.ts: the type and its check;
 * 6. clients/python/src/mooring_client/telemetry.py: the same;
 * 7. test/vectors/telemetry.json: a block that is stored with the field;
 * 8. src/languages/descriptions/: its meaning in each language, for the privacy page.
 *
 * Then `npm run docs:privacy` writes docs/privacy.md. A field with a `dimension` is shown to staff, and so it also needs
 * the schema `FleetWeek` in docs/openapi.yaml, `npm run docs:api-types`, its counts in web/support/fleet/counts.ts, and the title
 * of their chart in web/support/messages.ts.
 * test/telemetry/fields.test.ts names each place that is missing.
 */
export const TELEMETRY_FIELDS = {
  app_version: { meaning: 'Application version', dimension: 'app_version', ...version(isVersion) },
  os_version: {
    meaning: 'Operating-system name and version',
    dimension: 'os_version',
    ...text({ mayContainVersion: true }),
  },
  // `mac_model` and `soc_name` share a dimension: each model has a known chip, so with a table for each on the fleet page, the
  // count of a model that is hidden there could be computed from the counts of the chips.
  mac_model: { meaning: 'Hardware model identifier', dimension: 'hardware', ...text() },
  arch: { meaning: 'CPU architecture', ...word() },
  cpu_cores: { meaning: 'CPU core count', ...count() },
  ram_gb_bucket: { meaning: 'Memory size bucket in GB', dimension: 'ram_gb_bucket', ...text() },
  camera_count: { meaning: 'Count of cameras, never anything about them', ...count() },
  detector_type: { meaning: 'Detector backend type', ...word() },
  uptime_hours: { meaning: 'Uptime in hours', ...count() },
  crash_count_since_last: { meaning: 'Crashes since the previous heartbeat', ...count() },
  soc_name: { meaning: 'Name of the system-on-chip', dimension: 'hardware', ...text() },
  detector_compute: {
    meaning: 'The compute target configured: ane or gpu',
    dimension: 'detector_compute',
    ...oneOf('ane', 'gpu'),
  },
  recent_inference_ms: { meaning: 'Most recent detector latency in milliseconds', ...count() },
  detector_compute_units_resolved: {
    meaning: 'Which compute units the detector actually got',
    dimension: 'detector_compute',
    ...word(),
  },
  unlock_retry_outcome: {
    meaning: 'Whether the launch-time license check had to retry, and how it ended',
    ...word(),
  },
  crash_kind: {
    meaning: 'After a crash: native, python or unknown',
    ...oneOf('native', 'python', 'unknown'),
  },
  crash_signal: { meaning: 'After a native crash: the OS signal name', ...text() },
  crash_label: { meaning: 'After a crash: faulting binary or exception type', ...text() },
  crash_frame: {
    meaning: 'After a crash: application-relative frame, module.path.function:line',
    ...frame(),
  },
  crash_sig: { meaning: 'After a crash: 16 hex digits, equal for similar crashes', ...hex16() },
  crash_uptime_secs: {
    meaning: 'After a crash: seconds from the start of the application to the crash',
    ...count(),
  },
  crash_frame_source: { meaning: 'After a crash: which rule picked the frame', ...word() },
  crash_app_version: {
    meaning: 'After a crash: the build whose line numbers the frame belongs to',
    ...version((value) => BUILD_VERSION.test(value) && !looksPersonal(value, { mayContainVersion: true })),
  },
  crash_abort_reason: { meaning: 'After an abort: its known category, never the message', ...word() },
} as const satisfies Record<string, TelemetryField>;

export type TelemetryName = keyof typeof TELEMETRY_FIELDS;
export const TELEMETRY_NAMES = Object.keys(TELEMETRY_FIELDS) as TelemetryName[];

/**
 * The dimensions of the weekly counts, and the one or two fields of each. No two dimensions share a field, so the
 * counts of one cannot be subtracted from those of another (docs/privacy.md#telemetry).
 */
export const DIMENSIONS: Readonly<Record<string, readonly TelemetryName[]>> = collectDimensions();

function collectDimensions(): Record<string, TelemetryName[]> {
  const dimensions: Record<string, TelemetryName[]> = {};
  for (const name of TELEMETRY_NAMES) {
    const { dimension }: TelemetryField = TELEMETRY_FIELDS[name];
    if (dimension !== undefined) (dimensions[dimension] ??= []).push(name);
  }
  return dimensions;
}

/** The values to store, in the order of `TELEMETRY_NAMES`, and the known members with an invalid value. */
export interface TelemetryReading {
  readonly values: (string | number | null)[];
  readonly dropped: TelemetryName[];
}

/**
 * Reads each known member of a block, the object in the member `telemetry` of a heartbeat. It ignores unknown members and lists
 * known members with an invalid value.
 */
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

/** A count, up to the largest value of PostgreSQL's type integer. */
function count(): ValueRule {
  const isCount = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0x7fff_ffff;
  return { type: 'integer', read: (value) => (isCount(value) ? value : undefined) };
}

function text({ mayContainVersion = false } = {}): ValueRule {
  return textWhere(
    (value) =>
      characterCount(value) <= 120 && value.trim() !== '' && !looksPersonal(value, { mayContainVersion }),
  );
}

/** One word, for enumerations whose values are not listed here. */
function word(): ValueRule {
  const shape = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$/;
  return textWhere((value) => shape.test(value) && !looksPersonal(value));
}

/**
 * `module.path.function:line`: ASCII identifiers, or a name such as `<lambda>` that Python gives to code without one. The
 * pattern excludes letters that are not ASCII, percent and other encodings, hyphens and IP addresses. A module can have the name
 * `http` or `data`, so a frame is tested against fewer patterns than a text.
 */
function frame(): ValueRule {
  return textWhere((value) => value.length <= 120 && FRAME.test(value) && !frameLooksPersonal(value));
}

function version(rule: (value: string) => boolean): ValueRule {
  return textWhere((value) => value.length <= 32 && rule(value));
}

function oneOf(...allowed: string[]): ValueRule {
  return textWhere((value) => allowed.includes(value));
}

/** The hash that groups crashes, stored in lower case. */
function hex16(): ValueRule {
  const read = (value: unknown) =>
    typeof value === 'string' && /^[0-9a-f]{16}$/i.test(value) ? value.toLowerCase() : undefined;
  return { type: 'text', read };
}

function textWhere(rule: (value: string) => boolean): ValueRule {
  const isText = (value: unknown): value is string => typeof value === 'string' && isStorableText(value);
  return { type: 'text', read: (value) => (isText(value) && rule(value) ? value : undefined) };
}
