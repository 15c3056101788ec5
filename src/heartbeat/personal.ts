import { isIP } from 'node:net';

/** MAC addresses, with any separator or none; a word of the letters a to f is none. */
const MAC = [
  /(?<![0-9a-f])[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){5}|[0-9a-f]{2}([ ._:-][0-9a-f]{2}){5}/i,
  /(?<![0-9a-f])(?=[a-f.:-]*\d)([0-9a-f]{6}[ .:-]?[0-9a-f]{6}|[0-9a-f]{4}([.:-][0-9a-f]{4}){2})(?![0-9a-f])/i,
];
/** With any separator; without one, a digest too. */
const UUID = /[0-9a-f]{8}([-_ ]?[0-9a-f]{4}){3}[-_ ]?[0-9a-f]{12}|[0-9a-f]{32}/i;

/** What no telemetry text may look like, whatever a client sent it for (contract, Telemetry members). */
const PERSONAL: readonly RegExp[] = [
  // An e-mail address; a sign that stands alone is no part of one.
  /\S@|@\S/,
  ...MAC,
  UUID,
  // A URL.
  /[a-z][a-z0-9+.-]*:\/\/|\b(https?|ftps?|wss?|rtsps?|mailto|tel):|\bwww\.\S+\./i,
  // A file path: every slash is one's, of whatever script, and a tilde.
  /[/\\\u2044\u2215\u2216\u29F5\u29F8]|(^|\s)~/,
  // A line break and its like: prose, which has no place here.
  /\p{Cc}/u,
];
/**
 * Where a text is no name of code: a URL of these kinds, and what a computer is called in its own network. In code
 * `app.data:42` is a line, and `threading.local.get` a function.
 */
const IN_PROSE =
  /\b(file|data):\S|\.(local|localdomain|lan|home|internal|intranet|fritz\.box|home\.arpa)\b(?!\.)/i;
/** How addresses in use begin; `std::__1::bad_alloc` and `cc::Add` begin otherwise. */
const IPV6 = /^([23][0-9a-f]{3}|fe[89ab][0-9a-f]|f[cd][0-9a-f]{2}|64:ff9b|::\d|::ffff):?/i;
const IPV4 = /(^|\D)\d{1,3}(\s*\.\s*\d{1,3}){3}(\D|$)/;

/** What the shape of a crash frame leaves room for: digests, and names of computers before a port. */
const IN_FRAME: readonly RegExp[] = [
  ...MAC,
  UUID,
  /^www\.|^localhost:/i,
  /\.(local|localdomain|lan|home|internal|intranet|box|arpa|com|net|org|edu|gov|mil):/i,
  /macbook|mac_?mini|imac(?![a-z])|iphone|ipad/i,
];

/** Whether a text that names no code holds such a URL, or such a name. */
export function looksLikeHost(value: string): boolean {
  return readings(value).some((reading) => IN_PROSE.test(reading));
}

/** The same as `looksPersonal` for a crash frame. */
export function frameLooksPersonal(value: string): boolean {
  return IN_FRAME.some((pattern) => pattern.test(value));
}

/**
 * Whether a text looks like an e-mail, IP or MAC address, a UUID, a URL or a file path, also in other scripts' letters,
 * percent-encoded or as HTML entities, however often.
 * @param mayHoldVersion true where `1.2.3.4` is a version
 */
export function looksPersonal(value: string, mayHoldVersion = false): boolean {
  const all = readings(value);
  if (all.length > MAX_DECODINGS || UNREADABLE.test(all.at(-1)!)) return true;
  return all.some((reading) => isPersonal(reading, mayHoldVersion));
}

function isPersonal(value: string, mayHoldVersion: boolean): boolean {
  // The one slash that is no path's is in the name of an operating system.
  const plain = value.replace('GNU/Linux', '');
  if (PERSONAL.some((pattern) => pattern.test(plain))) return true;
  if (!mayHoldVersion && IPV4.test(plain)) return true;
  return plain.split(/[^0-9A-Za-z:.]+/).some(holdsIPv6);
}

/** A text that is still another after so many decodings was made to hide something. */
const MAX_DECODINGS = 5;
/** Digits of other scripts, which the patterns for addresses do not know, and bytes that are no UTF-8. */
const UNREADABLE = /(?!\d)\p{Nd}|\uFFFD/u;
/** Nothing in it can be decoded. */
const PLAIN_TEXT = /^[^%&\P{ASCII}]*$/u;

/** A text, and what it says each time it is decoded once more, until nothing changes. */
function readings(value: string): string[] {
  if (PLAIN_TEXT.test(value)) return [value];
  const found = [value];
  for (let last = value; found.length <= MAX_DECODINGS;) {
    const next = decoded(last);
    if (next === last) break;
    found.push((last = next));
  }
  return found;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  bsol: '\\',
  colon: ':',
  commat: '@',
  dash: '-',
  hyphen: '-',
  lowbar: '_',
  num: '#',
  percnt: '%',
  period: '.',
  semi: ';',
  sol: '/',
};

function decoded(value: string): string {
  return value
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/\p{Pd}/gu, '-')
    .replace(/[\u3002\u00B7]/g, '.')
    .replace(/(%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
    .replace(/&#(?:x([0-9a-f]{1,6})|(\d{1,7}));?/gi, (whole, hex: string | undefined, decimal: string) => {
      const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint) : whole;
    })
    .replace(/&([a-z]{3,6});/gi, (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole);
}

// Also behind a label (`peer:fe80::1`), before a port, and at the end of a sentence; `std::bad` is none.
function holdsIPv6(part: string): boolean {
  const bare = part.replace(/^[^:]*[^0-9a-f:.][^:]*:(?!:)/i, '').replace(/(?<!:)[:.]+$/, '');
  return IPV6.test(bare) && (isIP(bare) === 6 || isIP(bare.replace(/:\d+$/, '')) === 6);
}
