/** A text that still changes after this many decodings is rejected, because it could hide personal data. */
const MAX_DECODINGS = 5;
/** A text that no decoding changes: ASCII without %, & and =. */
const PLAIN_TEXT = /^[^%&=\P{ASCII}]*$/u;
/** Digits without an ASCII form in NFKC, bytes that are not UTF-8, and HTML entities that are not in `ENTITIES`. */
const UNREADABLE = /(?!\d)\p{N}|\uFFFD|&[a-z][a-z0-9]{1,30};/iu;
/** Quoted-printable bytes with hex digits in capitals: ASCII from 0x20 to 0x7F, or the UTF-8 of one other character. */
const QUOTED_PRINTABLE = /=[2-7][0-9A-F]|=[C-F][0-9A-F](?:=[89AB][0-9A-F]){1,3}/g;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  bsol: '\\',
  colon: ':',
  commat: '@',
  dash: '-',
  equals: '=',
  gt: '>',
  hyphen: '-',
  lowbar: '_',
  lt: '<',
  num: '#',
  percnt: '%',
  period: '.',
  semi: ';',
  shy: '',
  sol: '/',
};

/** Returns a text and its form after each decoding, or null if it cannot be decoded completely (docs/decisions/0026). */
export function decodedFormsOf(value: string): string[] | null {
  if (PLAIN_TEXT.test(value)) return [value];
  const forms = [value];
  for (let last = value; ;) {
    const next = decode(last);
    if (next === last) return UNREADABLE.test(last) ? null : forms;
    if (forms.length > MAX_DECODINGS) return null;
    forms.push((last = next));
  }
}

/**
 * Decodes a text once: applies NFKC, removes invisible characters and marks, replaces characters that look like a dash, a dot or a
 * colon by the ASCII ones, then decodes percent encoding, quoted-printable, `%uXXXX` and HTML entities.
 */
function decode(value: string): string {
  return value
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/[\p{Pd}\u02D7\u2043\u2212\u2796\u30FC]/gu, '-')
    .replace(/[\u00B7\u06D4\u2022\u2027\u22C5\u3002\u30FB]/g, '.')
    .replace(/[\u02D0\u05C3\u2236\uA789]/g, ':')
    .replace(/(?:%[0-9a-f]{2})+/gi, utf8)
    .replace(QUOTED_PRINTABLE, utf8)
    .replace(/%u([0-9a-f]{4})/gi, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/&#(?:x([0-9a-f]{1,6})|(\d{1,7}));?/gi, (whole, hex: string | undefined, decimal: string) => {
      const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return codePoint <= 0x10_ffff ? String.fromCodePoint(codePoint) : whole;
    })
    .replace(/&([a-z]{2,6});/gi, (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole);
}

const utf8 = (bytes: string) => Buffer.from(bytes.replaceAll(/[%=]/g, ''), 'hex').toString();
