import { resolve } from 'node:path';
import { deriveAccent, MIN_CONTRAST, type Accent } from './accent.js';
import { ConfigError } from './config-error.js';
import type { SettingsReader } from './settings-reader.js';

/** A way to reach a person: an e-mail address, or a page. */
export interface Contact {
  /** For people: the address, or the URL of the page without its scheme. */
  readonly text: string;
  /** For links: a `mailto:` or a web URL. */
  readonly url: string;
}

/** What the pages and mails say about the product and its vendor. A member is null if its setting is not given. */
export interface Brand {
  readonly productName: string;
  readonly vendorName: string | null;
  readonly supportContact: Contact | null;
  /** The support contact if PRIVACY_CONTACT is not given. */
  readonly privacyContact: Contact | null;
  readonly shopUrl: string | null;
  readonly renewalUrl: string | null;
  readonly accent: Accent | null;
  /** The absolute path of the image of the logo. */
  readonly logoFile: string | null;
}

const NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,60}$/u;
/** An e-mail address without the characters that have a meaning of their own in a `mailto:` URL. */
const EMAIL = /^[^\s<>@,"?#&%:/]+@[^\s<>@,"?#&%:/]+$/;
const MAX_URL_LENGTH = 500;

/**
 * Reads the settings of the brand (docs/contract.md#settings).
 * @param productName the name of the product if PRODUCT_NAME is not given
 */
export function readBrand(settings: SettingsReader, productName: string): Brand {
  const readWith = <T>(name: string, parse: (name: string, text: string) => T): T | null =>
    settings.parse(name, parse) ?? null;
  const supportContact = readWith('SUPPORT_CONTACT', contact);
  const logoFile = settings.text('LOGO_FILE');
  return {
    productName: readWith('PRODUCT_NAME', displayName) ?? productName,
    vendorName: readWith('VENDOR_NAME', displayName),
    supportContact,
    privacyContact: readWith('PRIVACY_CONTACT', contact) ?? supportContact,
    shopUrl: readWith('SHOP_URL', webUrl),
    renewalUrl: readWith('RENEWAL_URL', webUrl),
    accent: readWith('ACCENT_COLOR', accent),
    logoFile: logoFile === undefined ? null : resolve(logoFile),
  };
}

function displayName(name: string, text: string): string {
  if (!NAME.test(text)) throw new ConfigError(`${name} must be 1 to 60 visible characters.`);
  return text;
}

function webUrl(name: string, text: string): string {
  const url = URL.parse(text);
  const isUsable = url && /^https?:$/.test(url.protocol) && !url.username && !url.password;
  if (!isUsable || url.href.length > MAX_URL_LENGTH) {
    throw new ConfigError(`${name} must be an http or https URL of at most ${MAX_URL_LENGTH} characters.`);
  }
  return url.href;
}

function contact(name: string, text: string): Contact {
  if (EMAIL.test(text) && text.length <= 254) return { text, url: `mailto:${text}` };
  if (!/^https?:\/\//.test(text))
    throw new ConfigError(`${name} must be an e-mail address, or an http or https URL.`);
  const url = webUrl(name, text);
  return { text: url.replace(/^https?:\/\//, '').replace(/\/$/, ''), url };
}

function accent(name: string, text: string): Accent {
  if (!/^#[0-9a-f]{6}$/i.test(text)) throw new ConfigError(`${name} must be a colour of the form #0b5a73.`);
  const derived = deriveAccent(text.toLowerCase());
  if (!derived) {
    throw new ConfigError(
      `${name} must have a contrast of at least ${MIN_CONTRAST}:1 with the background of the pages: choose a darker colour.`,
    );
  }
  return derived;
}
