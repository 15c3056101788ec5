import type { Accent } from '../core/accent.js';
import type { Brand, Contact } from '../core/brand.js';
import type { Language } from '../languages/language.js';
import { directionOf } from '../languages/tags.js';
import { t } from '../languages/text.js';

/**
 * A paragraph, a heading, a text to copy on its own line, a list of named facts, numbered steps, a link on its own line, or the
 * last line.
 */
export type Block =
  | string
  | {
      readonly heading: string;
      /** The colours of its line and of the links in HTML; null for those of the mail client. */
      readonly accent: Accent | null;
      /** Whether the mail has the logo, which is shown before the text in HTML. */
      readonly hasLogo?: boolean;
    }
  | { readonly code: string }
  | { readonly facts: readonly (readonly [name: string, value: string])[] }
  | { readonly steps: readonly string[] }
  | {
      readonly link: string;
      /** What the HTML shows in place of the URL. */
      readonly name: string;
    }
  | { readonly footer: readonly (string | Contact)[] };

/** A mail, from which its text part and its HTML part are rendered. */
export interface MailMessage {
  /** The recipient; null if it was stored when the mail was enqueued (`MailOptions.to`), or if no address is known. */
  readonly to: string | null;
  readonly subject: string;
  readonly body: readonly Block[];
}

type MailBrand = Pick<Brand, 'productName' | 'accent' | 'vendorName' | 'supportContact'> & {
  readonly hasLogo?: boolean;
};

/** The Content-ID of the logo, which the HTML part refers to. The image is in the mail, so that no request reveals a reader. */
export const LOGO_CID = 'logo@mail';
/**
 * The name of the product is beside the logo, so the image has no alternative text. The white plate keeps a dark logo legible in
 * the dark mode.
 */
const LOGO_HTML =
  `<img src="cid:${LOGO_CID}" alt="" height="32" style="height: 32px; width: auto; max-width: 128px; object-fit: contain; ` +
  'vertical-align: middle; margin-right: 0.5em; padding: 4px; border-radius: 6px; background: #fff">';

/**
 * Returns the mail under a heading with the name of the product, and with a last line that names the vendor and the support
 * contact, if the settings have them.
 */
export function withBrand<Mail extends Pick<MailMessage, 'body'>>(
  mail: Mail,
  { productName, accent, vendorName, supportContact, hasLogo }: MailBrand,
  { messages }: Language,
): Mail {
  const heading = { heading: productName, accent, hasLogo };
  const [before = '', after = ''] = messages.shared.support.split('{contact}');
  const support = supportContact ? [before, supportContact, after] : [];
  const vendor = vendorName ? [vendorName] : [];
  const footer = [...vendor, ...(vendorName && supportContact ? [' · '] : []), ...support];
  return { ...mail, body: [heading, ...mail.body, ...(footer.length > 0 ? [{ footer }] : [])] };
}

/** Renders the plain text part. */
export function messageText({ body }: Pick<MailMessage, 'body'>, language: Language): string {
  return body.map((block) => `${blockText(block, language)}\n`).join('\n');
}

function blockText(block: Block, { messages }: Language): string {
  if (typeof block === 'string') return block;
  if ('code' in block) return `    ${block.code}`;
  if ('link' in block) return block.link;
  if ('heading' in block) return block.heading;
  if ('footer' in block) {
    return block.footer.map((part) => (typeof part === 'string' ? part : contactText(part))).join('');
  }
  if ('steps' in block) return block.steps.map((step, index) => `${index + 1}. ${step}`).join('\n');
  return block.facts.map(([name, value]) => t(messages.mail.facts.fact, { name, value })).join('\n');
}

/** The e-mail address or the page. The URL of a page keeps its scheme, so that mail clients make it a link. */
const contactText = ({ url }: Contact) => url.replace(/^mailto:/, '');

/**
 * Renders the HTML part. It loads nothing but the logo, which is in the mail, and uses the colours of the mail client, light or
 * dark. Only the line of the heading, the links and the plate of the logo have colours of their own.
 */
export function messageHtml({ subject, body }: Omit<MailMessage, 'to'>, { tag }: Language): string {
  const meta = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">';
  return [
    '<!doctype html>',
    `<html lang="${tag}" dir="${directionOf(tag)}">`,
    `<head>${meta}<title>${escapeHtml(subject)}</title>${linkStyle(body)}</head>`,
    '<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 1.5em auto; padding: 0 1em; overflow-wrap: anywhere">',
    ...body.map(blockHtml),
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

/** A style sheet, because a style attribute cannot depend on the mode. Clients that ignore it use a link colour of their own. */
function linkStyle(body: readonly Block[]): string {
  const accent = body.flatMap(
    (block) => (typeof block === 'object' && 'heading' in block && block.accent) || [],
  )[0];
  if (!accent) return '';
  const { light, dark } = accent;
  return `<style>a { color: ${light} } @media (prefers-color-scheme: dark) { a { color: ${dark} } }</style>`;
}

function blockHtml(block: Block): string {
  if (typeof block === 'string') return `<p>${escapeHtml(block)}</p>`;
  if ('code' in block) {
    return `<p style="font: 600 20px/1.4 ui-monospace, monospace; letter-spacing: 0.03em">${escapeHtml(block.code)}</p>`;
  }
  if ('link' in block) return `<p>${linkHtml(block.link, block.name)}</p>`;
  if ('heading' in block) {
    const line = `border-bottom: 3px solid ${block.accent?.light ?? 'currentcolor'}`;
    const logo = block.hasLogo ? LOGO_HTML : '';
    return `<h1 style="font: 600 20px/1.4 system-ui, sans-serif; padding-bottom: 0.4em; ${line}">${logo}${escapeHtml(block.heading)}</h1>`;
  }
  if ('footer' in block) {
    const parts = block.footer.map((part) =>
      // Only texts are faded, because a faded link would have too little contrast.
      typeof part === 'string'
        ? `<span style="opacity: 0.75">${escapeHtml(part)}</span>`
        : linkHtml(part.url, contactText(part)),
    );
    return `<p style="margin-top: 2em; font-size: 14px">${parts.join('')}</p>`;
  }
  if ('steps' in block)
    return `<ol style="padding-left: 1.5em">${block.steps.map((step) => `<li>${escapeHtml(step)}</li>`).join('')}</ol>`;
  return factsHtml(block.facts);
}

const linkHtml = (url: string, name: string) => `<a href="${escapeHtml(url)}">${escapeHtml(name)}</a>`;

function factsHtml(facts: readonly (readonly [name: string, value: string])[]): string {
  const cell = 'text-align: left; vertical-align: top; padding: 0.1em 0';
  const rows = facts.map(
    ([name, value]) =>
      `<tr><th scope="row" style="${cell}; padding-right: 1em; font-weight: 400; white-space: nowrap; opacity: 0.75">${escapeHtml(name)}</th>` +
      `<td style="${cell}">${escapeHtml(value)}</td></tr>`,
  );
  return `<table style="border-collapse: collapse">${rows.join('')}</table>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}
