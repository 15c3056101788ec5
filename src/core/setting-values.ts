import { ConfigError } from './config-error.js';

// Each parser takes the name and the text of a setting, and throws a ConfigError that names the setting. No error repeats the text,
// which may be a secret.

/** A mail address with its display name. */
export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

/** Returns the address of HOST on which the service listens. */
export function addressOfHost(host = '127.0.0.1'): string {
  // For `localhost` Fastify would start one server for IPv4 and one for IPv6, and only the first would strip client addresses.
  return host === 'localhost' ? '127.0.0.1' : host;
}

/** Parses the URL of a web service. @returns the URL without a trailing slash */
export function httpUrl(name: string, text: string): string {
  const url = URL.parse(text);
  if (
    !url ||
    !['http:', 'https:'].includes(url.protocol) ||
    /[?#]/.test(text) ||
    url.username ||
    url.password
  ) {
    throw new ConfigError(
      `${name} must be an http or https URL without a query, fragment, user name or password.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** Parses the id of the application. */
export function productId(name: string, text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/.test(text)) return text;
  throw new ConfigError(
    `${name} must be 1 to 96 letters, digits, dots, underscores or dashes, and begin with a letter or digit.`,
  );
}

/** Parses the prefix of license keys. */
export function licenseKeyPrefix(name: string, text: string): string {
  if (/^[A-Z0-9]{2,12}$/.test(text)) return text;
  throw new ConfigError(`${name} must be 2 to 12 capital letters or digits.`);
}

/** Parses a secret of 32 bytes. */
export function secret(name: string, text: string): Buffer {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) throw new ConfigError(`${name} must be 32 bytes in base64.`);
  return Buffer.from(text, 'base64');
}

/** Parses a staff token. */
export function staffToken(name: string, text: string): string {
  if (!/^mst_[\w-]{43}$/.test(text))
    throw new ConfigError(`${name} must be a token of \`mooring staff token\`, which begins with mst_.`);
  return text;
}

/** Parses a secret of Standard Webhooks. @returns the secret in base64, without its prefix */
export function webhookSecret(name: string, text: string): string {
  const base64 = text.replace(/^whsec_/, '');
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64').length : 0;
  if (bytes < 24 || bytes > 64) {
    throw new ConfigError(`${name} must be 24 to 64 bytes in base64, with or without the prefix whsec_.`);
  }
  return base64;
}

/** An address alone, such as `licenses@example.com`. */
const BARE_ADDRESS = /^[^\s<>@,"]+@[^\s<>@,"]+$/;
/** An address in angle brackets, after a name that may be in quotation marks. */
const NAME_WITH_ADDRESS = /^(?:"([^"\\\p{Cc}]*)"|([^"<>,;:\\\p{Cc}]*))\s*<([^\s<>@,]+@[^\s<>@,]+)>$/u;

/** Parses a mail address that may have a display name, which is otherwise empty. */
export function mailAddress(name: string, text: string): MailAddress {
  if (BARE_ADDRESS.test(text)) return { name: '', address: text };
  const [, quotedName, plainName, address] = NAME_WITH_ADDRESS.exec(text) ?? [];
  if (!address) {
    throw new ConfigError(
      `${name} must be an e-mail address, or a name with an address: App <licenses@example.com>.`,
    );
  }
  return { name: (quotedName ?? plainName)!.trim(), address };
}

/** Parses a language tag. @returns its canonical form */
export function languageTag(name: string, text: string): string {
  try {
    return Intl.getCanonicalLocales(text)[0]!;
  } catch {
    throw new ConfigError(`${name} must be a language tag, such as de or pt-BR.`);
  }
}

/** 32 bytes in base64url. The last of the 43 characters has only 4 significant bits, so it is one of 16. */
const PUBLIC_KEY = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/** Parses Ed25519 public keys. */
export function publicKeys(name: string, text: string): string[] {
  const keys = text.split(',').map((key) => key.trim());
  if (keys.every((key) => PUBLIC_KEY.test(key))) return keys;
  throw new ConfigError(`${name} must be Ed25519 public keys in base64url, separated by commas.`);
}

/** Refuses the same port for metrics and service, except 0, with which each gets a free port. @throws ConfigError */
export function requireOtherPort(metricsPort: number | undefined, port: number): void {
  if (port !== 0 && metricsPort === port) throw new ConfigError('METRICS_PORT must differ from PORT.');
}
