/** Hardware and runtime properties; none identifies a person (seed 2.2). A field that is not known is left out. */
export interface Telemetry {
  app_version?: string;
  os_version?: string;
  mac_model?: string;
  arch?: string;
  cpu_cores?: number;
  ram_gb_bucket?: string;
  camera_count?: number;
  detector_type?: string;
  uptime_hours?: number;
  crash_count_since_last?: number;
  soc_name?: string;
  detector_compute?: 'ane' | 'gpu';
  recent_inference_ms?: number;
  detector_compute_units_resolved?: string;
  unlock_retry_outcome?: string;
}

/** Where the application broke, and nothing about whom: no log text, path, message or camera name (seed 2.2). */
export interface CrashSignature {
  crash_kind?: 'native' | 'python' | 'unknown';
  crash_signal?: string;
  crash_label?: string;
  crash_frame?: string;
  crash_sig?: string;
  crash_uptime_secs?: number;
  crash_frame_source?: string;
  crash_app_version?: string;
  crash_abort_reason?: string;
}

type FieldType = 'string' | 'integer';

const TELEMETRY_FIELDS: Record<keyof Telemetry, FieldType> = {
  app_version: 'string',
  os_version: 'string',
  mac_model: 'string',
  arch: 'string',
  cpu_cores: 'integer',
  ram_gb_bucket: 'string',
  camera_count: 'integer',
  detector_type: 'string',
  uptime_hours: 'integer',
  crash_count_since_last: 'integer',
  soc_name: 'string',
  detector_compute: 'string',
  recent_inference_ms: 'integer',
  detector_compute_units_resolved: 'string',
  unlock_retry_outcome: 'string',
};

const CRASH_FIELDS: Record<keyof CrashSignature, FieldType> = {
  crash_kind: 'string',
  crash_signal: 'string',
  crash_label: 'string',
  crash_frame: 'string',
  crash_sig: 'string',
  crash_uptime_secs: 'integer',
  crash_frame_source: 'string',
  crash_app_version: 'string',
  crash_abort_reason: 'string',
};

/** Whether the user opted out: `<APP>_TELEMETRY_DISABLED=1`, read once, at start (seed 4.4). */
export function telemetryDisabled(app: string, environment: Record<string, string | undefined>): boolean {
  const prefix = app.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  const value = environment[`${prefix}_TELEMETRY_DISABLED`]?.trim().toLowerCase() ?? '';
  // An opt-out is read kindly: who wrote `true` meant it.
  return ['1', 'true', 'yes', 'on'].includes(value);
}

/** The block of one heartbeat. The list of fields is closed: whatever else the application hands over stays here. */
export function telemetryBlock(
  appVersion: string,
  read: (() => Telemetry) | undefined,
  crash: CrashSignature | null,
  log: (message: string) => void,
): Telemetry & CrashSignature {
  let fields: Telemetry = {};
  try {
    fields = pick(read?.(), TELEMETRY_FIELDS);
  } catch {
    // Telemetry can never cost a user the license, and what was thrown could hold anything.
    log('telemetry could not be read, sending the version alone');
  }
  return { app_version: appVersion, ...fields, ...pickCrash(crash) };
}

/** The known fields of a crash signature, or nothing. */
export function pickCrash(crash: unknown): CrashSignature {
  return pick(crash, CRASH_FIELDS);
}

function pick<T extends object>(source: unknown, fields: Record<keyof T, FieldType>): T {
  const picked: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(fields)) {
    const value = (source as Record<string, unknown> | null | undefined)?.[name];
    if (type === 'integer' ? Number.isSafeInteger(value) : typeof value === 'string') picked[name] = value;
  }
  return picked as T;
}
