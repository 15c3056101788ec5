import { isIP } from 'node:net';
import { textReadings } from './text-readings.js';

/** MAC addresses with separators between their bytes, or between groups of four; a word of the letters a to f is none. */
const MAC = [
  /(?<![0-9a-f])[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){5}|[0-9a-f]{2}([ ._:-][0-9a-f]{2}){5}/i,
  /(?<![0-9a-f])(?=[a-f.:-]*\d)[0-9a-f]{4}([.:-][0-9a-f]{4}){2}(?![0-9a-f])/i,
];
const MAC_IN_TEXT = /(?<![0-9a-f])(?=[a-f.:-]*\d)[0-9a-f]{6}[ .:-]?[0-9a-f]{6}(?![0-9a-f])/i;
/** In a frame `decade123456` and `deadbeef0001` are identifiers: there the digits of an address stand apart. */
const MAC_IN_FRAME = /(?<![0-9a-f])(?=[a-f]*\d+[a-f]+\d)[0-9a-f]{12}(?![0-9a-f])/i;
/** With any separator; without one, a digest too. */
const UUID = /[0-9a-f]{8}([-_ ]?[0-9a-f]{4}){3}[-_ ]?[0-9a-f]{12}|[0-9a-f]{32}/i;

/** License keys: as they are shown, in capitals with other separators, and any with a digit. */
const LICENSE_KEYS = [
  /[0-9a-z]{2,12}_[0-9a-z]{4}(-[0-9a-z]{4}){3}/i,
  /(?<![0-9A-Za-z])[0-9A-Z]{4}([-_. ][0-9A-Z]{4}){3}(?![0-9A-Za-z])/,
  /[0-9a-z]{2,12}[_-](?=[a-z_.-]{0,18}\d)[0-9a-z]{4}([-_.][0-9a-z]{4}){3}(?![0-9a-z])/i,
];
/** A signed token begins with `{"` in base64url; it may be cut short. */
const TOKEN = /(?<![0-9A-Za-z])eyJ[\w-]*\.[\w-]/;

/** Names that systems give computers: `Janes-MacBook-Pro`, `MacBook-Pro-von-Jane`, `DESKTOP-AB12CD3`. */
const COMPUTERS = [
  /[a-z]s-(macbook|imac|iphone|ipad|mbp|mac(mini|studio|pro)?(?![a-z]))/i,
  /[a-z]{3}s_(macbook|imac|mac_?mini|mbp)/i,
  /['\u2019]s?[ _-](macbook|imac|iphone|ipad|mbp|mac\b|pc\b)/i,
  /(macbook|imac|mac|iphone|ipad)(-\w+){0,3}-(von|de|di|da|van|af)-\w/i,
  /\b(DESKTOP|LAPTOP|WIN)[-_][0-9A-Z]{7,11}\b/,
  /\b(desktop|laptop|win)-(?=[a-z]*\d)[0-9a-z]{7,11}\b/i,
];
/** How names in a local network end, and domains that are not those of a country. */
const HOST_ENDINGS =
  'local|localdomain|lan|home|internal|intranet|corp|fritz\\.box|arpa' +
  '|com|net|org|edu|gov|mil|biz|(?:com?|ac|gov|edu)\\.[a-z]{2}';

/** The shortest license key or UUID, and what the name of a computer has: most texts are spared these patterns. */
const LONG_ENOUGH = 19;
const SEPARATOR = /[-_'\u2019]/;

/** What no text may hold, a frame included. */
function holdsIdentifier(value: string): boolean {
  const fits = (pattern: RegExp) => pattern.test(value);
  if (MAC.some(fits) || TOKEN.test(value)) return true;
  if (value.length >= LONG_ENOUGH && (UUID.test(value) || LICENSE_KEYS.some(fits))) return true;
  return SEPARATOR.test(value) && COMPUTERS.some(fits);
}

/** What no telemetry text may look like, whatever a client sent it for. */
const PERSONAL: readonly RegExp[] = [
  // An e-mail address; a sign that stands alone is no part of one.
  /\S@|@\S/,
  MAC_IN_TEXT,
  // A URL; one with slashes is a path as well.
  /\b(https?|ftps?|wss?|rtsps?|mailto|tel):|\bwww\.\S+\./i,
  // A file path: every slash is one's, of whatever script, and a tilde.
  /[/\\\u2044\u2215\u2216\u2571\u2572\u27CB\u27CD\u29F5\u29F8\u29F9]|(^|\s)~/,
  // A line break and its like: prose, which has no place here.
  /\p{Cc}/u,
  // A URL that would be a line in a frame (`app.data:42`), and a host; `threading.local.get` is a function.
  /\b(file|data):\S/i,
  new RegExp(`\\S\\.(?:${HOST_ENDINGS})\\b(?!\\.\\w)`, 'i'),
];
/** How addresses in use begin; `std::__1::bad_alloc` and `cc::Add` begin otherwise. */
const IPV6 = /^([23][0-9a-f]{3}|fe[89ab][0-9a-f]|f[cd][0-9a-f]{2}|64:ff9b|::\d|::ffff)/i;
const IPV4 = /(^|\D)\d{1,3}(\s*\.\s*\d{1,3}){3}(\D|$)/;

/** What the shape of a crash frame leaves room for. */
const IN_FRAME: readonly RegExp[] = [
  MAC_IN_FRAME,
  // The name of a computer before a port.
  /^www\.|^localhost:/i,
  new RegExp(`\\.(?:${HOST_ENDINGS}):`, 'i'),
  // A path with dots in place of slashes.
  /^(([A-Z]\.)?Users|home|C)\./,
];

/** The same as `looksPersonal` for a crash frame. */
export function frameLooksPersonal(value: string): boolean {
  return holdsIdentifier(value) || IN_FRAME.some((pattern) => pattern.test(value));
}

/**
 * Whether a text looks like an e-mail, IP or MAC address, a UUID, a URL, a file path, a license key, a token or the name
 * of a computer, as it is or decoded.
 * @param mayHoldVersion true where `1.2.3.4` is a version
 */
export function looksPersonal(value: string, mayHoldVersion = false): boolean {
  const readings = textReadings(value);
  return readings === null || readings.some((reading) => isPersonal(reading, mayHoldVersion));
}

function isPersonal(value: string, mayHoldVersion: boolean): boolean {
  // The one slash that is no path's is in the name of an operating system.
  const plain = value.replace('GNU/Linux', '');
  if (holdsIdentifier(plain) || PERSONAL.some((pattern) => pattern.test(plain))) return true;
  if (!mayHoldVersion && IPV4.test(plain)) return true;
  return plain.includes(':') && plain.split(/[^0-9A-Za-z:.]/).some(holdsIPv6);
}

/** An address has eight parts between colons, and a group of none where two colons meet. */
const MOST_PARTS = 8;

// Also behind labels (`en0:cafe:fe80::1`), before a port or a word, and at the end of a sentence; `std::bad` is none.
function holdsIPv6(part: string): boolean {
  const parts = part.split(/(?<!:):(?!:)/);
  return parts.some((_, from) => {
    const rest = parts.slice(from, from + MOST_PARTS);
    return IPV6.test(rest[0]!) && rest.some((_each, to) => isIPv6(rest.slice(0, to + 1).join(':')));
  });
}

const isIPv6 = (text: string) => isIP(text) === 6 || isIP(text.replace(/[:.]+$/, '')) === 6;
