import type { Brand } from '../core/brand.js';
import type { Language } from '../languages/language.js';
import { directionOf } from '../languages/tags.js';
import { t } from '../languages/text.js';

/**
 * A paragraph, a heading, a text to copy on its own line, a list of named facts, numbered steps, or a link on its own line.
 */
export type Block =
  | string
  | {
      readonly heading: string;
      /** The colour of its line in HTML, as `#rrggbb`; null for the colour of the text. */
      readonly colour: string | null;
    }
  | { readonly code: string }
  | { readonly facts: readonly (readonly [name: string, value: string])[] }
  | { readonly steps: readonly string[] }
  | { readonly link: string };

/** A mail, from which its text part and its HTML part are rendered. */
export interface MailMessage {
  /** The recipient; null if it was stored when the mail was enqueued (`MailOptions.to`), or if no address is known. */
  readonly to: string | null;
  readonly subject: string;
  readonly body: readonly Block[];
}

type MailBrand = Pick<Brand, 'productName' | 'accent' | 'vendorName' | 'supportContact'>;

/**
 * Returns the mail under a heading with the name of the product, and with a last line that names the vendor and the support
 * contact, if the settings have them.
 */
export function withBrand<Mail extends Pick<MailMessage, 'body'>>(
  mail: Mail,
  { productName, accent, vendorName, supportContact }: MailBrand,
  { messages }: Language,
): Mail {
  const heading = { heading: productName, colour: accent?.light ?? null };
  // The contact is an e-mail address or a page. The URL of a page keeps its scheme, so that mail clients make it a link.
  const contact = supportContact?.url.replace(/^mailto:/, '');
  const parts = [vendorName, contact && t(messages.shared.support, { contact })].filter((part) => part);
  return { ...mail, body: [heading, ...mail.body, ...(parts.length > 0 ? [parts.join(' · ')] : [])] };
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
  if ('steps' in block) return block.steps.map((step, index) => `${index + 1}. ${step}`).join('\n');
  return block.facts.map(([name, value]) => t(messages.mail.facts.fact, { name, value })).join('\n');
}

/**
 * Renders the HTML part. It loads nothing, shows the address of each link, and uses the colours of the mail client, light or
 * dark. Only the line of the heading has a colour of its own, because that of a text would need a contrast with both.
 */
export function messageHtml({ subject, body }: Omit<MailMessage, 'to'>, { tag }: Language): string {
  return [
    '<!doctype html>',
    `<html lang="${tag}" dir="${directionOf(tag)}">`,
    `<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${escapeHtml(subject)}</title></head>`,
    '<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 1.5em auto; padding: 0 1em; overflow-wrap: break-word">',
    ...body.map(blockHtml),
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function blockHtml(block: Block): string {
  if (typeof block === 'string') return `<p>${escapeHtml(block)}</p>`;
  if ('code' in block) {
    return `<p style="font: 600 20px/1.4 ui-monospace, monospace; letter-spacing: 0.03em">${escapeHtml(block.code)}</p>`;
  }
  if ('link' in block) return `<p><a href="${escapeHtml(block.link)}">${escapeHtml(block.link)}</a></p>`;
  if ('heading' in block) {
    const line = `border-bottom: 3px solid ${escapeHtml(block.colour ?? 'currentcolor')}`;
    return `<h1 style="font: 600 20px/1.4 system-ui, sans-serif; padding-bottom: 0.4em; ${line}">${escapeHtml(block.heading)}</h1>`;
  }
  if ('steps' in block)
    return `<ol>${block.steps.map((step) => `<li>${escapeHtml(step)}</li>`).join('')}</ol>`;
  const rows = block.facts.map(
    ([name, value]) =>
      `<tr><th scope="row" style="text-align: left; vertical-align: top; font-weight: 400; padding-right: 1em">${escapeHtml(name)}</th>` +
      `<td>${escapeHtml(value)}</td></tr>`,
  );
  return `<table>${rows.join('')}</table>`;
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
