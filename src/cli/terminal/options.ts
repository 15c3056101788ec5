import { parseMoment } from '../../core/clock.js';
import { publicKeyFromX } from '../../keys/ed25519.js';
import { isVersion } from '../../keys/manifests/version.js';
import { reasonRule } from '../../audit/reason.rules.js';
import { canonicalEmail } from '../../licenses/email.js';
import { UsageError } from './output.js';
import type { KeyObject } from 'node:crypto';

/** One reader for each kind of value; each throws the sentence that names the option and says what it must be. */
type Reader<T> = (text: string) => T;

function need<T>(value: T | null | undefined, name: string, what: string): T {
  if (value === null || value === undefined) throw new UsageError(`${name} must be ${what}.`);
  return value;
}

export const wholeNumber =
  (name: string, from: number, to: number): Reader<number> =>
  (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    return need(value >= from && value <= to ? value : null, name, `a whole number from ${from} to ${to}`);
  };

const A_MOMENT = 'a day such as 2027-01-04 or a time such as 2027-01-04T12:00:00Z';

export const moment =
  (name: string): Reader<Date> =>
  (text) =>
    need(parseMoment(text), name, A_MOMENT);

export const momentOrNever =
  (name: string): Reader<Date | 'never'> =>
  (text) =>
    text === 'never' ? text : need(parseMoment(text), name, `${A_MOMENT}, or never`);

export const oneOf =
  <const T extends string>(name: string, allowed: readonly T[]): Reader<T> =>
  (text) =>
    need(
      allowed.find((value) => value === text),
      name,
      `one of ${allowed.join(', ')}`,
    );

export const emailAddress =
  (name: string): Reader<string> =>
  (text) =>
    need(canonicalEmail(text), name, 'an e-mail address of at most 254 characters');

export const machines = wholeNumber('--machines', 1, 100_000);

export const onExpiry = oneOf('--on-expiry', ['stop', 'keep']);

/** @param rule says what is wrong with a text, as the rules of the API's members do */
export const ruled =
  (name: string, rule: (value: unknown) => string | undefined): Reader<string> =>
  (text) => {
    const wrong = rule(text);
    if (wrong) throw new UsageError(`${name} ${wrong}.`);
    return text;
  };

export const reason = ruled('--reason', reasonRule);

export const actorName: Reader<string> = (text) => {
  const name = text.trim();
  const fits = name !== '' && name.length <= 254 && !/\p{Cc}/u.test(name);
  return need(fits ? name : null, '--as', 'a name of 1 to 254 characters');
};

export const appVersion =
  (name: string): Reader<string> =>
  (text) =>
    need(isVersion(text) ? text : null, name, 'one to four dotted numbers, such as 3.2.0');

/** As it will stand in a manifest: a server publishes no other. */
export const httpsUrl =
  (name: string): Reader<string> =>
  (text) =>
    need(text.startsWith('https://') && URL.canParse(text) ? text : null, name, 'an https address');

/** Standard output and standard error are ours. */
export const fileDescriptor =
  (name: string): Reader<number> =>
  (text) =>
    need(
      /^([03-9]|[1-9]\d{1,3})$/.test(text) ? Number(text) : null,
      name,
      'an open file descriptor: 0, 3 or above',
    );

/** Gathers the values of an option that may be given several times. */
export const files = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  text,
];

export const publicKeys =
  (name: string) =>
  (text: string, before: readonly KeyObject[] | undefined): KeyObject[] => {
    try {
      return [...(before ?? []), publicKeyFromX(text)];
    } catch {
      throw new UsageError(`${name} must be an Ed25519 public key: 43 characters of base64url (a JWK's x).`);
    }
  };
