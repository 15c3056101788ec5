import { hash } from 'node:crypto';
import { PROBLEMS } from './problem.js';

const INTRODUCTION = [
  'Every error is an `application/problem+json` document (RFC 9457). `code` never changes its meaning; `client_action`',
  'says what a client does: `retry` later, `fix` a bug of its own, `reactivate` with the stored key, or `stop`.',
  '**Nothing stops a paid application but `stop`, or a restart after seven days offline.**',
];

/** Renders `docs/errors.md` from the catalogue. */
export function errorsAsMarkdown(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, client_action, title, when }]) =>
      `| <a id="${code}"></a>\`${code}\` | ${status} | \`${client_action}\` | ${title} | ${when} |`,
  );
  return [
    '<!-- Made from src/http/problems/problem.ts by `npm run docs:errors`; a test fails if it is not up to date. -->',
    '',
    '# Errors',
    '',
    ...INTRODUCTION,
    '',
    '| code | status | client_action | title | when |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

/** The style of the page `/docs/errors`. It is in the page, because the page must be readable also if the pages are not built. */
const STYLE =
  ':root{color-scheme:light dark}' +
  'body{max-width:44rem;margin:0 auto;padding:2rem 1.25rem 4rem;font:1rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}' +
  'h1,h2{line-height:1.2}h2{margin:2.25rem 0 .5rem;font-size:1.125rem}p{margin:0}code{font-family:ui-monospace,monospace;font-size:.9375em}' +
  'section{scroll-margin-top:2rem}section:target{outline:2px solid #2b88a6;outline-offset:.75rem;border-radius:.25rem}';

/** The policy of the page `/docs/errors`: nothing is loaded, and this style alone is used. */
export const ERRORS_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`;

/** Renders the page `/docs/errors`, to which the `type` of a problem links. In the texts only bold and code are marked up. */
export function errorsAsHtml(): string {
  const toHtml = (text: string) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
      .replace(/`(.+?)`/g, '<code>$1</code>');
  const entries = Object.entries(PROBLEMS).map(
    ([code, { status, client_action, title, when }]) =>
      `<section id="${code}"><h2><code>${code}</code></h2><p><strong>${toHtml(title)}.</strong> ` +
      `Status ${status}, client action <code>${client_action}</code>. ${toHtml(when)}</p></section>`,
  );
  return (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Errors</title>' +
    `<meta name="viewport" content="width=device-width"><style>${STYLE}</style><main><h1>Errors</h1>` +
    `<p>${toHtml(INTRODUCTION.join(' '))}</p>${entries.join('')}</main></html>`
  );
}
