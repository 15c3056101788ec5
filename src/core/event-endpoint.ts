import { ConfigError } from './config-error.js';
import { isLoopbackHost } from './connection-urls.js';
import { webhookSecret } from './setting-values.js';
import type { SettingsReader } from './settings-reader.js';

/** The vendor's program that receives events (docs/events.md). */
export interface EventEndpoint {
  /** An https URL, or an http URL of this machine. It may contain a secret, so it is never logged. */
  readonly url: string;
  /** In base64, as in Standard Webhooks: one, or the old and the new one while the secret is replaced. */
  readonly secrets: readonly string[];
}

/** Reads EVENTS_URL and EVENTS_SECRET. @returns undefined without them, and if one of them is invalid */
export function readEventEndpoint(settings: SettingsReader): EventEndpoint | undefined {
  const url = settings.parse('EVENTS_URL', eventUrl);
  const secrets = settings.parse('EVENTS_SECRET', eventSecrets);
  settings.check(() => {
    if ((settings.text('EVENTS_URL') === undefined) !== (settings.text('EVENTS_SECRET') === undefined))
      throw new ConfigError('EVENTS_URL and EVENTS_SECRET must be given together.');
  });
  return url !== undefined && secrets ? { url, secrets } : undefined;
}

// Errors do not contain the URL, because it may contain a secret.
function eventUrl(name: string, text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.hash || url.username || url.password) {
    throw new ConfigError(`${name} must be an https URL without a fragment, user name or password.`);
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new ConfigError(`${name} must be an https URL, unless its host is a loopback one.`);
  }
  return url.href;
}

function eventSecrets(name: string, text: string): readonly string[] {
  const secrets = text.split(/\s+/);
  if (secrets.length > 2) throw new ConfigError(`${name} must be one secret, or two while it is replaced.`);
  return secrets.map((secret) => webhookSecret(name, secret));
}
