import { hash } from 'node:crypto';

/**
 * Identifies values that staff can change. A change that names another revision is refused, because it is based on values that
 * another person has changed meanwhile (docs/decisions/0034). @returns 16 characters of base64url
 */
export function revisionOf(values: readonly (string | number | null)[]): string {
  return hash('sha256', JSON.stringify(values), 'base64url').slice(0, 16);
}
