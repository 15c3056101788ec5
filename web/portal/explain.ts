import { ApiError, ServiceUnavailable } from '../shared/api/api.js';
import { unavailableText } from '../shared/texts/messages.js';
import { messages } from './messages.js';

/**
 * Returns a sentence for the holder about a failed request. The messages have sentences for some codes. For another code it is
 * the `detail` of the service. Without a `detail`, and from status 500 on, it is `messages.failed`.
 * @throws the given error if it is not that of a request
 */
export function explain(error: unknown): string {
  if (error instanceof ServiceUnavailable) return unavailableText(error, messages.unavailableTyped);
  if (!(error instanceof ApiError)) throw error;
  if (wrongMembers(error).includes('hint')) return messages.freeAPlace.expired;
  // For the other reasons the license has ended: it was refunded, revoked or erased.
  if (error.code === 'key_not_mailable' && error.members['reason'] !== 'not_made_here')
    return messages.license.keyEnded;
  const refused: Readonly<Record<string, string | undefined>> = messages.refused;
  return refused[error.code] ?? (error.status < 500 && error.detail ? error.detail : messages.failed);
}

/** Returns the names of the members that the service refused: those in `errors` of `invalid_request`. */
export function wrongMembers(error: unknown): string[] {
  if (!(error instanceof ApiError) || !Array.isArray(error.members['errors'])) return [];
  return (error.members['errors'] as { pointer?: unknown }[]).map(({ pointer }) => String(pointer).slice(1));
}
