import { LicenseProblem } from './problem.js';

// What people, mail programs and input methods put between the characters of a key (docs/keys.md#license-keys).
const SEPARATORS = /[\s\p{Cf}\p{S}ーｰ]|(?!_)\p{P}/gu;
const FULL_WIDTH = /[０-９Ａ-Ｚａ-ｚ＿]/g;
const WITH_UNDERSCORE = /^([A-Z0-9]{2,12})_((?:[A-Z0-9]_?){16})$/i;
const WITHOUT_UNDERSCORE = /^([A-Z0-9]{2,12})?([A-Z0-9]{16})$/i;
// A character that makes a key beside it a part of a longer word. Japanese, Chinese and Korean letters are left out, because these
// languages write a key without a space beside it. `scx` also has the marks that their scripts share, such as the half-width voiced
// sound mark. NUL is included, because the service refuses each text that has one.
const WORD_CHARACTER = String.raw`(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}])[\p{L}\p{N}_\0]`;
// A key between words. It has its prefix and underscore. After a dash a line may end, and a quoted line begins with `>`.
const KEY_IN_TEXT = new RegExp(
  `(?<!${WORD_CHARACTER}\\p{Pd}?)[A-Za-z0-9]{2,12}_[A-Za-z0-9]{4}` +
    `(?:(?:[\\p{Pd}−ーｰ_][\\s>]{0,9})?[A-Za-z0-9]{4}){3}(?!\\p{Pd}?${WORD_CHARACTER})`,
  'gu',
);
// What precedes a key: a label such as `Key `, `KEY:` or `1) `, or any words before a prefix with its underscore.
const LABEL = /^.*(?:[:：)]\s|(?:key|schlüssel|clé|キー)[\s:：]|\s(?=[A-Za-z0-9]{2,12}_))/is;
const MAX_TYPED_LENGTH = 2_000;
const DETAIL = 'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX';

/**
 * Reads a typed or pasted license key as the service does. A key that was typed without its prefix stays without one, because only
 * the service knows the prefix. The check symbol is not checked, because imported keys may lack it.
 * @returns the canonical text
 * @throws LicenseProblem, as the service would answer, for a text without the shape of a key, with several different keys, or of
 *   more than 2,000 characters
 */
export function readLicenseKey(text: string): string {
  if (text.length > MAX_TYPED_LENGTH) throw invalidKey();
  const keys = new Set(withAsciiWidth(text).match(KEY_IN_TEXT)?.map(readKeyAlone));
  const key = [...keys][0] ?? readKeyAlone(text.replace(LABEL, '')) ?? readKeyAlone(text);
  if (keys.size > 1 || key === null) throw invalidKey();
  return key;
}

function withAsciiWidth(text: string): string {
  return text.replace(/\p{Cf}/gu, '').replace(FULL_WIDTH, (character) => character.normalize('NFKC'));
}

/** Reads a text that has nothing but a license key and separators. */
function readKeyAlone(text: string): string | null {
  const typed = withAsciiWidth(text).replace(SEPARATORS, '');
  const shape = WITH_UNDERSCORE.exec(typed) ?? WITHOUT_UNDERSCORE.exec(typed);
  if (!shape?.[2]) return null;
  const prefix = shape[1] ? `${shape[1].toUpperCase()}_` : '';
  const symbols = shape[2].toUpperCase().replaceAll('_', '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return prefix + symbols.replace(/(.{4})(?!$)/g, '$1-');
}

function invalidKey(): LicenseProblem {
  return new LicenseProblem({
    status: 422,
    code: 'invalid_request',
    client_action: 'fix',
    detail: 'At least one member of the request has the wrong shape; errors names each.',
    errors: [{ pointer: '/license_key', detail: DETAIL }],
    extras: {},
  });
}
