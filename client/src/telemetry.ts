/** Hardware and runtime properties; none identifies a person (docs/privacy.md#telemetry). Leave out unknown values. */
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

/** The place of a crash in the application, without log text, paths, messages or camera names (docs/privacy.md#telemetry). */
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

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isInteger: Check = Number.isSafeInteger;

const TELEMETRY_FIELDS: Record<keyof Telemetry, Check> = {
  app_version: isText,
  os_version: isText,
  mac_model: isText,
  arch: isText,
  cpu_cores: isInteger,
  ram_gb_bucket: isText,
  camera_count: isInteger,
  detector_type: isText,
  uptime_hours: isInteger,
  crash_count_since_last: isInteger,
  soc_name: isText,
  detector_compute: isText,
  recent_inference_ms: isInteger,
  detector_compute_units_resolved: isText,
  unlock_retry_outcome: isText,
};

const CRASH_FIELDS: Record<keyof CrashSignature, Check> = {
  crash_kind: isText,
  crash_signal: isText,
  crash_label: isText,
  crash_frame: isText,
  crash_sig: isText,
  crash_uptime_secs: isInteger,
  crash_frame_source: isText,
  crash_app_version: isText,
  crash_abort_reason: isText,
};

/**
 * Whether the user opted out with `<APP>_TELEMETRY_DISABLED=1` (docs/clients.md#telemetry). The constructor of the
 * client reads it once.
 */
export function isTelemetryDisabled(app: string, environment: Record<string, string | undefined>): boolean {
  const prefix = app.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  const value = environment[`${prefix}_TELEMETRY_DISABLED`]?.trim().toLowerCase() ?? '';
  // Other usual spellings of an opt-out are accepted too.
  return ['1', 'true', 'yes', 'on'].includes(value);
}

/** The telemetry of one heartbeat. The list of fields is closed: other members that the application returns are not sent. */
export function telemetryBlock(
  appVersion: string,
  read: (() => Telemetry) | undefined,
  crash: CrashSignature | null,
  log: (message: string) => void,
): Telemetry & CrashSignature {
  let fields: Telemetry = {};
  try {
    const values: unknown = read?.();
    // An async callback is a mistake of the application. No caller waits for it, so its error would end the application.
    if (values instanceof Promise) {
      values.catch(() => {});
      throw new TypeError('telemetry must not be async');
    }
    fields = pick(values, TELEMETRY_FIELDS);
  } catch {
    // An error of the callback must not prevent the heartbeat. It is not logged, because it could contain personal data.
    log('telemetry could not be read, sending only the version and a stored crash, if any');
  }
  return { app_version: appVersion, ...fields, ...pickCrash(crash) };
}

/** Returns only the known fields of a crash; an empty object if there are none. */
export function pickCrash(crash: unknown): CrashSignature {
  return pick(crash, CRASH_FIELDS);
}

function pick<T extends object>(source: unknown, fields: Record<keyof T, Check>): T {
  const picked: Record<string, unknown> = {};
  for (const [name, isRight] of Object.entries<Check>(fields)) {
    const value = (source as Record<string, unknown> | null | undefined)?.[name];
    if (isRight(value)) picked[name] = value;
  }
  return picked as T;
}
