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
    '<meta name="viewport" content="width=device-width"><h1>Errors</h1>' +
    `<p>${toHtml(INTRODUCTION.join(' '))}</p>${entries.join('')}</html>`
  );
}
