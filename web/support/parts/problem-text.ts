import { ApiError, ServiceUnavailable } from '../../shared/api/api.js';
import { unavailableText } from '../../shared/texts/messages.js';
import { messages } from '../messages.js';
import { t } from '../../shared/texts/text.js';

/** Returns a sentence for staff about an error. */
export function problemText(error: unknown): string {
  if (error instanceof ServiceUnavailable) return unavailableText(error, messages.unavailable);
  if (!(error instanceof ApiError)) return messages.problems.unknown!;
  return messages.problems[error.code] ?? (error.detail || messages.problems.unknown!);
}

/** Returns the messages about the members that the service refused as invalid, by member name. */
export function memberErrors(error: unknown): Record<string, string> {
  const errors = error instanceof ApiError && error.code === 'invalid_request' ? error.members.errors : [];
  if (!Array.isArray(errors)) return {};
  return Object.fromEntries(
    (errors as { pointer: string; detail: string }[]).map(({ pointer, detail }) => [
      pointer.slice(1),
      t(messages.memberWrong, { detail }),
    ]),
  );
}
