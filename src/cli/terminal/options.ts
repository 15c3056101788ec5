import { Option } from 'commander';
import { publicKeyFromX } from '../../keys/ed25519/ed25519.js';
import { isHttpsWithHost } from '../../keys/manifests/manifest-content.js';
import { Invalid, oneOf, textField, wholeNumber as wholeNumberField, type Field } from '../../core/field.js';
import { hasVisibleCharacter, visibleLine } from '../../core/text.js';
import { appVersionField } from '../../fields/app-version.js';
import { emailField } from '../../fields/email.js';
import { expiryTextField, machinesAllowedField, momentField } from '../../fields/license-terms.js';
import { reasonField } from '../../fields/reason.js';
import { uuidField } from '../../fields/uuid.js';
import { UsageError } from './output.js';
import type { KeyObject } from 'node:crypto';

/**
 * Creates the reader of an option from a field of the API. The reader throws a UsageError that names the option and says what the
 * value must be.
 */
export const fieldOption =
  <T>(name: string, parse: Field<T>['parse']) =>
  (text: string): T => {
    const value = parse(text);
    if (value instanceof Invalid) throw new UsageError(`${name} ${value.sentence}.`);
    return value;
  };

// The readers of options whose values are fields.
export const wholeNumber = (name: string, min: number, max: number) =>
  fieldOption(name, wholeNumberField(min, max).parseText);
export const moment = (name: string) => fieldOption(name, momentField.parse);
export const expiry = fieldOption('--expires', expiryTextField.parse);
export const uuid = (name: string) =>
  fieldOption(name, uuidField('must be an id, such as 0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6').parse);
export const emailAddress = (name: string) => fieldOption(name, emailField.parse);
export const machines = fieldOption('--machines', machinesAllowedField.parseText);
export const reason = fieldOption('--reason', reasonField.parse);
export const appVersion = fieldOption('--version', appVersionField.parse);

/** Reads the id of a row. It becomes lower case, as PostgreSQL returns it, because ids are also compared and stored as text. */
export const rowId = (text: string): string => text.toLowerCase();

/** Returns an option as it is typed, from its name in the parsed options: `--on-expiry` of `onExpiry`. */
export const typedOption = (name: string) =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Creates an option whose value is one of these texts, which its help and the completion of the shells list. */
export function choiceOption(flags: string, description: string, allowed: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argParser(fieldOption(option.long!, oneOf(allowed).parse)).argChoices = [...allowed];
  return option;
}

/** The description of the option --on-expiry. */
export const ON_EXPIRY_TEXT = 'what happens at the expiry: stop, or keep running the versions it covers';

/** Reads the name that --as gives the caller in the audit trail. */
export const actorName = fieldOption(
  '--as',
  textField('must be a name of 1 to 254 characters', (text) => {
    const name = visibleLine(text);
    return hasVisibleCharacter(name) && name.length <= 254 ? name : null;
  }).parse,
);

/** Reads the download address of a disk image. The server publishes only https URLs. */
export const imageUrl = fieldOption(
  '--url',
  textField('must be an https URL', (text) => (isHttpsWithHost(text) && URL.canParse(text) ? text : null))
    .parse,
);

/** Reads a file descriptor for input, so 1 and 2 (standard output and standard error) are refused. */
export const fileDescriptor = fieldOption(
  '--passphrase-fd',
  textField('must be an open file descriptor: 0, 3 or above', (text) =>
    /^([03-9]|[1-9]\d{1,3})$/.test(text) ? Number(text) : null,
  ).parse,
);

/** Collects the file names of an option that can be repeated. */
export const collectFiles = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  text,
];

/** Collects the public keys (JWK `x`) of an option that can be repeated. */
export const collectPublicKeys = (text: string, before: readonly KeyObject[] | undefined): KeyObject[] => {
  try {
    return [...(before ?? []), publicKeyFromX(text)];
  } catch {
    throw new UsageError(
      "--public-key must be an Ed25519 public key: 43 characters of base64url (a JWK's x).",
    );
  }
};
