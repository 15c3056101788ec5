import { Refused, ServiceUnavailable } from '../../shared/api.js';
import { unlessOffline } from '../../shared/messages.js';
import { messages } from '../messages.js';
import { t } from '../../shared/text.js';

/** What went wrong, for a person. */
export function problemText(error: unknown): string {
  if (error instanceof ServiceUnavailable) return unlessOffline(messages.unavailable);
  if (!(error instanceof Refused)) return messages.problems.unknown!;
  return messages.problems[error.code] ?? (error.detail || messages.problems.unknown!);
}

/** What the service says is wrong with a member, by the member's name. */
export function memberErrors(error: unknown): Record<string, string> {
  const errors = error instanceof Refused && error.code === 'invalid_request' ? error.members.errors : [];
  if (!Array.isArray(errors)) return {};
  return Object.fromEntries(
    (errors as { pointer: string; detail: string }[]).map(({ pointer, detail }) => [
      pointer.slice(1),
      t(messages.memberWrong, { detail }),
    ]),
  );
}
