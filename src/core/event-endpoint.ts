import { ConfigError } from './config-error.js';
import { isLoopbackHost } from './connection-urls.js';
import { webhookSecret } from './setting-values.js';

/** The vendor's program that receives events (docs/events.md). */
export interface EventEndpoint {
  /** An https URL, or an http URL of this machine. It may contain a secret, so it is never logged. */
  readonly url: string;
  /** In base64, as in Standard Webhooks: one, or the old and the new one while the secret is replaced. */
  readonly secrets: readonly string[];
}

/** Reads EVENTS_URL and EVENTS_SECRET. @returns undefined without them @throws ConfigError */
export function readEventEndpoint(read: (name: string) => string | undefined): EventEndpoint | undefined {
  const [url, secrets] = [read('EVENTS_URL'), read('EVENTS_SECRET')?.split(/\s+/)];
  if (!url && !secrets) return undefined;
  if (!url || !secrets) throw new ConfigError('EVENTS_URL and EVENTS_SECRET must be given together.');
  if (secrets.length > 2)
    throw new ConfigError('EVENTS_SECRET must be one secret, or two while it is replaced.');
  return { url: eventUrl(url), secrets: secrets.map((secret) => webhookSecret('EVENTS_SECRET', secret)) };
}

// Errors do not contain the URL, because it may contain a secret.
function eventUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.hash || url.username || url.password) {
    throw new ConfigError('EVENTS_URL must be an https URL without a fragment, user name or password.');
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new ConfigError('EVENTS_URL must be an https URL, unless its host is a loopback one.');
  }
  return url.href;
}
