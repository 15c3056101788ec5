import {
  buildVersion,
  count,
  frame,
  hex16,
  oneOf,
  text,
  version,
  word,
  type ValueRule,
} from './value-rules.js';

interface TelemetryField extends ValueRule {
  /** The meaning of the field in docs/privacy.md and in the comments of its columns. */
  readonly meaning: string;
  /** A valid value for docs/privacy.md and for tests. */
  readonly example: string | number;
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
 * statements that empty the inbox name no field. A new field is added in six places:
 *
 * 1. this table;
 * 2. a migration: the column and its comment in `telemetry_inbox`, `telemetry_inbox_draining` (both `set statistics 0`) and
 *    `telemetry`;
 * 3. docs/openapi.yaml: the schema `Telemetry` and the values of `dropped`;
 * 4. client/src/telemetry.ts: the type and its check;
 * 5. clients/python/src/mooring_client/telemetry.py: the same;
 * 6. src/languages/descriptions/: its meaning in each language, for the privacy page.
 *
 * Then `npm run docs:privacy` writes docs/privacy.md. A field with a `dimension` is shown to staff, and so it also needs
 * the schema `FleetWeek` in docs/openapi.yaml, `npm run docs:api-types`, its counts in web/support/fleet/counts.ts, and the title
 * of their chart in web/support/messages.ts.
 * test/telemetry/fields.test.ts and test/database/columns.test.ts name the places that are missing, but not the title of a chart.
 */
export const TELEMETRY_FIELDS = {
  app_version: {
    meaning: 'Application version',
    example: '3.2.0',
    dimension: 'app_version',
    ...version(),
  },
  os_version: {
    meaning: 'Operating-system name and version',
    example: 'macOS 26.1',
    dimension: 'os_version',
    ...text({ mayContainVersion: true }),
  },
  // `mac_model` and `soc_name` share a dimension. Counted apart, the count of a chip without its shown models would be that of its
  // models with a small count, which are hidden.
  mac_model: { meaning: 'Hardware model identifier', example: 'Mac16,10', dimension: 'hardware', ...text() },
  arch: { meaning: 'CPU architecture', example: 'arm64', ...word() },
  cpu_cores: { meaning: 'CPU core count', example: 10, ...count() },
  ram_gb_bucket: {
    meaning: 'Memory size bucket in GB',
    example: '16',
    dimension: 'ram_gb_bucket',
    ...text(),
  },
  camera_count: { meaning: 'Count of cameras, never anything about them', example: 4, ...count() },
  detector_type: { meaning: 'Detector backend type', example: 'coreml', ...word() },
  uptime_hours: { meaning: 'Uptime in hours', example: 30, ...count() },
  crash_count_since_last: { meaning: 'Crashes since the previous heartbeat', example: 1, ...count() },
  soc_name: { meaning: 'Name of the system-on-chip', example: 'Apple M4', dimension: 'hardware', ...text() },
  detector_compute: {
    meaning: 'The compute target configured: ane or gpu',
    example: 'ane',
    dimension: 'detector_compute',
    ...oneOf('ane', 'gpu'),
  },
  recent_inference_ms: { meaning: 'Most recent detector latency in milliseconds', example: 9, ...count() },
  detector_compute_units_resolved: {
    meaning: 'Which compute units the detector actually got',
    example: 'ane',
    dimension: 'detector_compute',
    ...word(),
  },
  unlock_retry_outcome: {
    meaning: 'Whether the launch-time license check had to retry, and how it ended',
    example: 'not_needed',
    ...word(),
  },
  crash_kind: {
    meaning: 'After a crash: native, python or unknown',
    example: 'native',
    ...oneOf('native', 'python', 'unknown'),
  },
  crash_signal: { meaning: 'After a native crash: the OS signal name', example: 'SIGSEGV', ...text() },
  crash_label: {
    meaning: 'After a crash: faulting binary or exception type',
    example: 'libexample.dylib',
    ...text(),
  },
  crash_frame: {
    meaning: 'After a crash: application-relative frame, module.path.function:line',
    example: 'detector.engine.run:214',
    ...frame(),
  },
  crash_sig: {
    meaning: 'After a crash: 16 hex digits, equal for similar crashes',
    example: '0123456789abcdef',
    ...hex16(),
  },
  crash_uptime_secs: {
    meaning: 'After a crash: seconds from the start of the application to the crash',
    example: 4000,
    ...count(),
  },
  crash_frame_source: {
    meaning: 'After a crash: which rule picked the frame',
    example: 'faulting-thread',
    ...word(),
  },
  crash_app_version: {
    meaning: 'After a crash: the build whose line numbers the frame belongs to',
    example: '3.2.0.118',
    ...buildVersion(),
  },
  crash_abort_reason: {
    meaning: 'After an abort: its known category, never the message',
    example: 'fork-safety',
    ...word(),
  },
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
