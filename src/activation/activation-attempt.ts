import { characterCount } from '../http/parsing/text.js';
import type { LicenseFacts } from '../licenses/license.rules.js';

/**
 * Characters that are invisible or change the direction of text: control, format and bidirectional characters and line
 * separators. Joiners and tags are allowed, because emoji and some scripts need them.
 */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])\p{Cf}/gu;
const MAX_HINT_CHARACTERS = 100;

/** Removes invisible characters from a label that a user typed. @returns null if no visible character remains */
export function normalizeHostnameHint(label: string | null | undefined): string | null {
  const hint = label?.replace(INVISIBLE_CHARACTERS, '').normalize('NFC').trim() ?? '';
  return /[^\p{Cf}\s]/u.test(hint) ? hint : null;
}

export function isHostnameHintTooLong(hint: string | null): boolean {
  return hint !== null && characterCount(hint) > MAX_HINT_CHARACTERS;
}

/** A license, with the activation of the requesting machine if it is activated. */
export interface ActivationAttempt extends LicenseFacts {
  readonly license_id: string;
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly activation_id: string | null;
  readonly activated_at: Date | null;
  readonly hostname_hint: string | null;
}

/** An attempt of a machine that is activated. */
export type SuccessfulAttempt = ActivationAttempt & {
  readonly activation_id: string;
  readonly activated_at: Date;
};
