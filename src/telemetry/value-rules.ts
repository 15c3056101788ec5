import { characterCount, isStorableText } from '../core/text.js';
import { isVersion } from '../keys/manifests/signed-manifest.js';
import { frameLooksPersonal, looksPersonal } from './personal-data.js';

/** A version, with or without a build part: `3.2.0`, `3.2.0+451`, `3.2.0 (451)`, `3.2.0-rc.1+451`, `3.2.0.dev0`. */
const BUILD_VERSION = /^\d[0-9A-Za-z]*([.+-][0-9A-Za-z]+)*( ?\([0-9A-Za-z. ]{1,20}\))?$/;

/** An identifier in source code, or the name that Python gives to code without one. */
const IDENTIFIER = '(?:[A-Za-z_$][\\w$]*|<[a-z]{1,20}>)';
const FRAME = new RegExp(`^${IDENTIFIER}(?:\\.${IDENTIFIER})*:\\d{1,9}$`);

const WORD = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$/;

/** The column type of a field, and the function that returns the value to store, or undefined for an invalid value. */
export interface ValueRule {
  readonly type: 'text' | 'integer';
  /** The valid values, in words for docs/privacy.md. */
  readonly shape: string;
  readonly read: (value: unknown) => string | number | undefined;
}

/** A count, up to the largest value of PostgreSQL's type integer. */
export function count(): ValueRule {
  const isCount = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0x7fff_ffff;
  return {
    type: 'integer',
    shape: 'integer, 0 to 2147483647',
    read: (value) => (isCount(value) ? value : undefined),
  };
}

export function text({ mayContainVersion = false } = {}): ValueRule {
  return textWhere(
    'text, at most 120 characters',
    (value) =>
      characterCount(value) <= 120 && value.trim() !== '' && !looksPersonal(value, { mayContainVersion }),
  );
}

/** One word, for enumerations whose values are not listed here. */
export function word(): ValueRule {
  return textWhere(`one word: \`${WORD.source}\``, (value) => WORD.test(value) && !looksPersonal(value));
}

/**
 * `module.path.function:line`: ASCII identifiers, or a name such as `<lambda>` that Python gives to code without one. The
 * pattern excludes letters that are not ASCII, percent and other encodings, hyphens and IP addresses. A module can have the name
 * `http` or `data`, so a frame is tested against fewer patterns than a text.
 */
export function frame(): ValueRule {
  const shape = '`module.path.function:line`, no path, at most 120 characters';
  return textWhere(shape, (value) => value.length <= 120 && FRAME.test(value) && !frameLooksPersonal(value));
}

/** A version of the application, as dotted numbers (docs/contract.md#versions). */
export function version(): ValueRule {
  return textWhere('dotted numeric, at most 32 characters', isVersion);
}

export function buildVersion(): ValueRule {
  return textWhere(
    'a version, also with a build part (`3.2.0+451`), at most 32 characters',
    (value) =>
      value.length <= 32 && BUILD_VERSION.test(value) && !looksPersonal(value, { mayContainVersion: true }),
  );
}

export function oneOf(...allowed: string[]): ValueRule {
  return textWhere(`\`${allowed.join('` or `')}\``, (value) => allowed.includes(value));
}

/** The hash that groups crashes, stored in lower case. */
export function hex16(): ValueRule {
  const read = (value: unknown) =>
    typeof value === 'string' && /^[0-9a-f]{16}$/i.test(value) ? value.toLowerCase() : undefined;
  return { type: 'text', shape: '16 hex digits', read };
}

function textWhere(shape: string, rule: (value: string) => boolean): ValueRule {
  const isText = (value: unknown): value is string => typeof value === 'string' && isStorableText(value);
  return { type: 'text', shape, read: (value) => (isText(value) && rule(value) ? value : undefined) };
}
