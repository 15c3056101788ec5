import { isIP } from 'node:net';
import { characterCount, isStorableText } from '../http/text.js';
import { isVersion } from '../keys/signed-manifest.js';

/** A dotted version with a build part: `3.2.0+451`, `3.2.0 (451)`, `3.2.0b7`. */
const BUILD_VERSION =
  /^\d+(\.\d+){0,4}([a-z]{1,5}\d{0,5})?( ?\([0-9A-Za-z.]{1,20}\)|[ +-][0-9A-Za-z.]{1,20})?$/;

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
  crash_app_version: version((value) => BUILD_VERSION.test(value)),
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
      !IN_PROSE.test(value) &&
      !looksPersonal(value, mayHoldVersion),
  );
}

/** An enumeration whose values the seed leaves open. */
function word(): Field {
  return matching(/^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$/);
}

function matching(shape: RegExp): Field {
  return textWhere((value) => characterCount(value) <= 120 && shape.test(value) && !looksPersonal(value));
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

/** What no telemetry text may look like, whatever a client sent it for (contract, Telemetry members). */
const PERSONAL: readonly RegExp[] = [
  // An e-mail address; a sign that stands alone is no part of one.
  /\S@|@\S/,
  // A MAC address, with any separator or none.
  /(?<![0-9a-f])[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){5}|[0-9a-f]{2}([ ._:-][0-9a-f]{2}){5}/i,
  /(?<![0-9a-f])([0-9a-f]{6}[ .:-]?[0-9a-f]{6}|[0-9a-f]{4}([.:-][0-9a-f]{4}){2})(?![0-9a-f])/i,
  // A UUID, with any separator; without one, a digest too.
  /[0-9a-f]{8}([-_ ]?[0-9a-f]{4}){3}[-_ ]?[0-9a-f]{12}|[0-9a-f]{32}/i,
  // A URL.
  /[a-z][a-z0-9+.-]*:\/\/|\b(https?|ftps?|wss?|rtsps?|mailto|tel):|\bwww\.\S+\./i,
  // A file path: every slash is one's, of whatever script, and a tilde.
  /[/\\\u2044\u2215\u29F5\u29F8]|(^|\s)~/,
  // An IPv4 address as a number.
  /\b0x[0-9a-f]{8}\b/i,
  // A line break and its like: prose, which has no place here.
  /\p{Cc}/u,
];
/**
 * Where a text is no name of code: a URL of these kinds, and what a computer is called in its own network. In code
 * `app.data:42` is a line, and `threading.local.get` a function.
 */
const IN_PROSE = /\b(file|data):\S|\.local\b(?!\.)/i;
const IPV4 = /(^|\D)\d{1,3}(\s*\.\s*\d{1,3}){3}(\D|$)/;

/**
 * Whether a text looks like an e-mail, IP or MAC address, a UUID, a URL or a file path, also in other scripts' letters
 * and percent-encoded.
 * @param mayHoldVersion true where `1.2.3.4` is a version
 */
export function looksPersonal(value: string, mayHoldVersion = false): boolean {
  const decoded = value.replace(/%([0-9a-f]{2})/gi, (_match, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  // The one slash that is no path's is in the name of an operating system.
  const plain = decoded
    .normalize('NFKC')
    .replace(/[\u3002\uFF61]/g, '.')
    .replace('GNU/Linux', '');
  if (PERSONAL.some((pattern) => pattern.test(plain))) return true;
  if (!mayHoldVersion && IPV4.test(plain)) return true;
  return plain.split(/[^0-9A-Za-z:.]+/).some(holdsIPv6);
}

// Also behind a label (`peer:fe80::1`), before a port, and at the end of a sentence; `std::bad` is none.
function holdsIPv6(part: string): boolean {
  const bare = part.replace(/^[^:]*[^0-9a-f:.][^:]*:(?!:)/i, '').replace(/(?<!:)[:.]+$/, '');
  return isIP(bare) === 6 || isIP(bare.replace(/:\d+$/, '')) === 6;
}
