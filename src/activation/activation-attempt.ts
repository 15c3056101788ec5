import { characterCount } from '../http/parsing/text.js';
import type { LicenseFacts } from '../licenses/license.rules.js';

/**
 * What would show as nothing, or turn the text around it: control, format and bidirectional characters, line separators.
 * Joiners and tags stay, which emoji and some scripts are written with.
 */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}]|(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])\p{Cf}/gu;
const MAX_HINT_CHARACTERS = 100;

/** The label a person typed, fit to be shown: null where nothing is left of it. */
export function hostnameHint(typed: string | null | undefined): string | null {
  const hint = typed?.replace(INVISIBLE, '').normalize('NFC').trim() ?? '';
  return /[^\p{Cf}\s]/u.test(hint) ? hint : null;
}

export function isTooLong(hint: string | null): boolean {
  return hint !== null && characterCount(hint) > MAX_HINT_CHARACTERS;
}

/** A license with this machine's binding to it, if there is one, as one read gives them. */
export interface ActivationAttempt extends LicenseFacts {
  readonly license_id: string;
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly activation_id: string | null;
  readonly activated_at: Date | null;
  readonly hostname_hint: string | null;
}

/** The seat of a machine that has one. */
export type SuccessfulAttempt = ActivationAttempt & {
  readonly activation_id: string;
  readonly activated_at: Date;
};
