import { isIP } from 'node:net';
import { decodedFormsOf } from './decoded-forms.js';

/** MAC addresses with separators between bytes, or between groups of four digits if a digit of the address is decimal. */
const MAC_ADDRESSES = [
  /(?<![0-9a-f])[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){5}|[0-9a-f]{2}([ ._:-][0-9a-f]{2}){5}/i,
  /(?<![0-9a-f])(?=[a-f.:-]*\d)[0-9a-f]{4}([.:-][0-9a-f]{4}){2}(?![0-9a-f])/i,
];
/** A MAC address in a text, with one separator in the middle or none, and with a decimal digit. */
const MAC_IN_TEXT = /(?<![0-9a-f])(?=[a-f.:-]*( [a-f]*)?\d)[0-9a-f]{6}[ .:-]?[0-9a-f]{6}(?![0-9a-f])/i;
/**
 * In a crash frame, a MAC address without separators must have letters between digits: `decade123456` and `deadbeef0001` are
 * names in code.
 */
const MAC_IN_CRASH_FRAME = /(?<![0-9a-f])(?=[a-f]*\d+[a-f]+\d)[0-9a-f]{12}(?![0-9a-f])/i;
/** A UUID with `-`, `_` or a space between its groups, or 32 hex digits in a row, as in a digest. */
const UUID = /[0-9a-f]{8}([-_ ]?[0-9a-f]{4}){3}[-_ ]?[0-9a-f]{12}|[0-9a-f]{32}/i;

/** License keys. Only the second pattern distinguishes capitals. */
const LICENSE_KEYS = [
  // The form in which they are shown.
  /[0-9a-z]{2,12}_[0-9a-z]{4}(-[0-9a-z]{4}){3}/i,
  // In capitals without the prefix, also with other separators.
  /(?<![0-9A-Za-z])[0-9A-Z]{4}([-_. ][0-9A-Z]{4}){3}(?![0-9A-Za-z])/,
  // With a prefix and other separators, or without separators: only if the key has a digit.
  /[0-9a-z]{2,12}[_-](?=[a-z_.-]{0,18}\d)[0-9a-z]{4}([-_.][0-9a-z]{4}){3}(?![0-9a-z])/i,
  /[0-9a-z]{2,12}_(?=[a-z]{0,15}\d)[0-9a-hjkmnp-tv-z]{16}(?![0-9a-z])/i,
];
/** A signed token begins with `{"` in base64url. The pattern also matches a token that is cut off after its first dot. */
const TOKEN = /(?<![0-9A-Za-z])eyJ[\w-]*\.[\w-]/;

/** Default names of computers: `Janes-MacBook-Pro`, `Janes MacBook Pro`, `MacBook Pro von Jane`, `DESKTOP-AB12CD3`. */
const COMPUTER_NAMES = [
  /[a-z]s-(macbook|imac|iphone|ipad|mbp|mac(mini|studio|pro)?(?![a-z]))/i,
  // This pattern distinguishes capitals, because a space may also separate two words that are no name: `macOS Mac Catalyst`.
  /\p{Ll}s (MacBook|iMac|iPhone|iPad|MBP|Mac\b)/u,
  /[a-z]{3}s_(macbook|imac|mac_?mini|mbp)/i,
  /(['\u2019]s?[ _-]|\u306E ?)(macbook|imac|iphone|ipad|mbp|mac\b|pc\b)/i,
  // A digit after `de` is part of the name of a model, which is no name of a computer: `MacBook Pro de 14 pulgadas`.
  /(macbook|imac|mac|iphone|ipad)([ -]\w+){0,3}[ -](von|de|di|da|van|af)[ -]\D/i,
  /\b(DESKTOP|LAPTOP|WIN)[-_][0-9A-Z]{7,11}\b/,
  /\b(desktop|laptop|win)-(?=[a-z]*\d)[0-9a-z]{7,11}\b/i,
];
/** Endings of names in a local network, generic top-level domains, and second-level domains of countries such as `co.uk`. */
const HOST_ENDINGS =
  'local|localdomain|lan|home|internal|intranet|corp|fritz\\.box|arpa' +
  '|com|net|org|edu|gov|mil|biz|(?:com?|ac|gov|edu)\\.[a-z]{2}';

/** The length of the shortest text that LICENSE_KEYS or UUID can match. Shorter texts are not matched with these patterns. */
const MIN_IDENTIFIER_LENGTH = 19;
/** Each match of COMPUTER_NAMES contains one of these. Texts without them are not matched with these patterns. */
const NAME_SEPARATOR = /[-_' \u2019\u306E]/;

/** Returns whether a text or a frame contains an identifier of a machine or of a license. */
function containsIdentifier(value: string): boolean {
  const matches = (pattern: RegExp) => pattern.test(value);
  if (MAC_ADDRESSES.some(matches) || TOKEN.test(value)) return true;
  if (value.length >= MIN_IDENTIFIER_LENGTH && (UUID.test(value) || LICENSE_KEYS.some(matches))) return true;
  return NAME_SEPARATOR.test(value) && COMPUTER_NAMES.some(matches);
}

/** Patterns of personal data in a text. */
const PERSONAL_PATTERNS: readonly RegExp[] = [
  // An e-mail address; a separate `@` is allowed.
  /\S@|@\S/,
  MAC_IN_TEXT,
  // A URL without slashes; one with slashes also matches as a path. The names of C++ and Rust in `http::Error` are no URL.
  /\b(https?|ftps?|wss?|rtsps?|mailto|tel):(?!:)|\bwww\.\S+\./i,
  // A file path: each kind of slash, and a tilde at the beginning of a word.
  /[/\\\u2044\u2215\u2216\u2571\u2572\u27CB\u27CD\u29F5\u29F8\u29F9]|(^|\s)~/,
  // A control character, such as a line break: it occurs in logs and prose.
  /\p{Cc}/u,
  // URLs with the scheme `file` or `data`. The frame `app.data:42` matches too, so frames have patterns of their own.
  /\b(file|data):(?!:)\S/i,
  // A host name. `threading.local.get` does not match, because it is the name of a function.
  new RegExp(`\\S\\.(?:${HOST_ENDINGS})\\b(?!\\.\\w)`, 'i'),
];
/** The beginnings of assigned IPv6 addresses. C++ names such as `std::__1::bad_alloc` and `cc::Add` begin differently. */
const IPV6 = /^([23][0-9a-f]{3}|fe[89ab][0-9a-f]|f[cd][0-9a-f]{2}|64:ff9b|::\d|::ffff)/i;
const IPV4 = /(^|\D)\d{1,3}(\s*\.\s*\d{1,3}){3}(\D|$)/;

/** Names of systems, processors and signals whose slash belongs to no path. */
const NAMES_WITH_SLASH = /GNU\/Linux|\bw\/ (?=Radeon)|Trace\/(?:BPT|breakpoint) trap/;

/** Personal data that can have the form of a crash frame. */
const FRAME_PATTERNS: readonly RegExp[] = [
  MAC_IN_CRASH_FRAME,
  // A host name with a port.
  /^www\.|^localhost:/i,
  new RegExp(`\\.(?:${HOST_ENDINGS}):`, 'i'),
  // A path with dots instead of slashes.
  /^(([A-Z]\.)?Users|home|C)\./,
];

/** Returns whether a crash frame contains personal data. Unlike `looksPersonal`, it decodes nothing. */
export function frameLooksPersonal(value: string): boolean {
  return containsIdentifier(value) || FRAME_PATTERNS.some((pattern) => pattern.test(value));
}

/**
 * Returns whether a text, as sent or after decoding, contains an e-mail, IP or MAC address, a UUID, a URL, a host name, a file
 * path, a control character, a license key, a token or the name of a computer. A text that cannot be decoded completely could
 * contain any of these, so the result is true for it too (docs/decisions/0026).
 * @param mayContainVersion true if `1.2.3.4` is a version in this field, not an IP address
 */
export function looksPersonal(value: string, { mayContainVersion = false } = {}): boolean {
  const forms = decodedFormsOf(value);
  return forms === null || forms.some((form) => isPersonal(form, mayContainVersion));
}

function isPersonal(value: string, mayContainVersion: boolean): boolean {
  const plain = value.replace(NAMES_WITH_SLASH, '');
  if (containsIdentifier(plain) || PERSONAL_PATTERNS.some((pattern) => pattern.test(plain))) return true;
  if (!mayContainVersion && IPV4.test(plain)) return true;
  return plain.includes(':') && plain.split(/[^0-9A-Za-z:.]/).some(containsIPv6);
}

/** An IPv6 address has eight groups. */
const MAX_IPV6_PARTS = 8;

// Returns whether a text contains an IPv6 address, also after a label (`en0:cafe:fe80::1`), before a port or a word, and at
// the end of a sentence.
function containsIPv6(part: string): boolean {
  // The text is split at single colons only, so that `::` stays within a part.
  const parts = part.split(/(?<!:):(?!:)/);
  return parts.some((_, from) => {
    const rest = parts.slice(from, from + MAX_IPV6_PARTS);
    return IPV6.test(rest.join(':')) && rest.some((_each, to) => isIPv6(rest.slice(0, to + 1).join(':')));
  });
}

const isIPv6 = (text: string) => isIP(text) === 6 || isIP(text.replace(/[:.]+$/, '')) === 6;
