import { isIP } from 'node:net';
import { isStorableText } from '../http/members.pipe.js';
import { isVersion } from '../keys/signed-manifest.js';

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
  crash_frame: matching(/^[^\s/\\@:]+:\d{1,9}$/),
  crash_sig: hex16(),
  crash_uptime_secs: count(),
  crash_frame_source: word(),
  crash_app_version: version((value) => /^\d+(\.\d+){0,4}([ +-]?\(?[0-9A-Za-z.]{1,20}\)?)?$/.test(value)),
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
    (value) => value.length <= 120 && value.trim() !== '' && !looksPersonal(value, mayHoldVersion),
  );
}

/** An enumeration whose values the seed leaves open. */
function word(): Field {
  return matching(/^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$/);
}

function matching(shape: RegExp): Field {
  return textWhere((value) => value.length <= 120 && shape.test(value) && !looksPersonal(value));
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

const E_MAIL = /[^\s@]@[^\s@]/;
const MAC_ADDRESS = /\b[0-9a-f]{2}([:-][0-9a-f]{2}){5}\b|\b[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}\b/i;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
/** A UUID without its hyphens, or a digest such as the machine id. */
const LONG_HEX = /[0-9a-f]{32}/i;
const URL_OR_HOST = /[a-z][a-z0-9+.-]*:\/\/|\b(www\.|mailto:|file:|data:)/i;
/** Every slash is a path's, but for the one in the name of an operating system. */
const PATH = /[/\\]|^~|\s~/;

/**
 * Whether a text looks like an e-mail, IP or MAC address, a UUID, a URL or a file path: none is ever stored, for
 * whatever reason a client sent it (contract, Telemetry members).
 */
export function looksPersonal(value: string, mayHoldVersion = false): boolean {
  const patterns = [E_MAIL, MAC_ADDRESS, UUID, LONG_HEX, URL_OR_HOST];
  if (patterns.some((pattern) => pattern.test(value))) return true;
  return PATH.test(value.replace('GNU/Linux', '')) || holdsAddress(value, mayHoldVersion);
}

function holdsAddress(value: string, mayHoldVersion: boolean): boolean {
  // Split where an address may begin or end; `1.2.3.4` is a version where versions are expected.
  const parts = value.split(/[^0-9A-Za-z:._%-]+/);
  const bare = parts.map((part) => part.replace(/%.*$/, '').replace(/^[._-]+|[._-]+$/g, ''));
  const kinds = bare.flatMap((part) => [isIP(part), isIP(part.replace(/:\d+$/, ''))]);
  return (
    kinds.includes(6) ||
    (!mayHoldVersion && (kinds.includes(4) || /(^|\D)\d{1,3}(\.\d{1,3}){3}(\D|$)/.test(value)))
  );
}
