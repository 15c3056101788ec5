import { driverErrorOf } from '../../core/driver-error.js';
import { escapeInvisible } from '../../core/text.js';
import { isTemporaryDatabaseError } from '../../database/temporary-errors.js';
import { Problem, problemDetail } from '../../http/problems/problem.js';

/**
 * Turns an error message into one sentence. A message of commander is, for example, `error: unknown option '--x'`, a line break and
 * a suggestion.
 */
export function oneSentence(text: string): string {
  const message = escapeInvisible(
    text
      .trim()
      .replace(/^error: /, '')
      .replaceAll(/\s*\n\s*/g, ' '),
  );
  // A file name or an address at the beginning keeps its case.
  const capitalized = /^[a-z]+[\s,]/.test(message)
    ? message.charAt(0).toUpperCase() + message.slice(1)
    : message;
  return /[.)?]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}

/** Describes an error for the user, usually in one sentence. */
export function errorSentence(error: unknown): string {
  if (!(error instanceof Error)) return 'An unknown error occurred.';
  if (error instanceof Problem) return problemDetail(error);
  const { code } = driverErrorOf(error);
  if (isTemporaryDatabaseError(error))
    return `The database does not answer (${String(code ?? error.message)}).`;
  return oneSentence(error.message || String(code ?? error.name));
}
