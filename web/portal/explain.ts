import { Refused, ServiceUnavailable } from '../shared/api.js';
import { unlessOffline } from '../shared/messages.js';
import { messages } from './messages.js';

/** What did not work, in a sentence for the holder. */
export function explain(error: unknown): string {
  if (error instanceof ServiceUnavailable) return unlessOffline(messages.unavailableTyped);
  if (!(error instanceof Refused)) throw error;
  return (
    messages.refused[error.code] ?? (error.status < 500 && error.detail ? error.detail : messages.failed)
  );
}

/** Which members the service found wrong: the names in `errors` of `invalid_request`. */
export function wrongMembers(error: unknown): string[] {
  if (!(error instanceof Refused) || !Array.isArray(error.members['errors'])) return [];
  return (error.members['errors'] as { pointer?: unknown }[]).map(({ pointer }) => String(pointer).slice(1));
}
