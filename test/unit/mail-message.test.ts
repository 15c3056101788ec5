import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { messageHtml, messageText, withBrand, type Block } from '../../src/mail/mail-message.js';
import { english } from '../support/languages.js';

const html = (body: Block[], subject = 'A subject') => messageHtml({ subject, body }, english);
/** The HTML between the tags of the body, with one line for each block. */
const inner = (body: Block[]) => /<body[^>]*>\n(.*)\n<\/body>/s.exec(html(body))![1]!;

const ACCENT = { light: '#8a1f4d', lightStrong: '#681739', dark: '#d58aab', darkStrong: '#dfa7c0' };

const blocks: [what: string, block: Block, text: string, markup: RegExp][] = [
  ['a paragraph', 'Hello there.', 'Hello there.', /^<p>Hello there\.<\/p>$/],
  [
    'a text to be copied',
    { code: 'MOOR_1234' },
    '    MOOR_1234',
    /^<p style="[^"<>]*monospace[^"<>]*">MOOR_1234<\/p>$/,
  ],
  [
    'facts',
    {
      facts: [
        ['Machine', 'Studio Mac'],
        ['Machines', '1'],
      ],
    },
    'Machine: Studio Mac\nMachines: 1',
    /^<table [^<>]*><tr><th [^<>]*>Machine<\/th><td [^<>]*>Studio Mac<\/td><\/tr><tr><th [^<>]*>Machines<\/th><td [^<>]*>1<\/td><\/tr><\/table>$/,
  ],
  [
    'a heading',
    { heading: 'Example App', accent: ACCENT },
    'Example App',
    /^<h1 style="[^"<>]*; border-bottom: 3px solid #8a1f4d">Example App<\/h1>$/,
  ],
  [
    'a list of steps',
    { steps: ['Open it.', 'Close it.'] },
    '1. Open it.\n2. Close it.',
    /^<ol [^<>]*><li>Open it\.<\/li><li>Close it\.<\/li><\/ol>$/,
  ],
  [
    'a link',
    { link: 'https://example.com/portal/', name: 'Go to the portal' },
    'https://example.com/portal/',
    /^<p><a href="https:\/\/example\.com\/portal\/">Go to the portal<\/a><\/p>$/,
  ],
  [
    'a last line',
    { footer: ['Support: ', { text: 'not shown', url: 'mailto:help@example.com' }] },
    'Support: help@example.com',
    /^<p style="[^"<>]*"><span [^<>]*>Support: <\/span><a href="mailto:help@example\.com">help@example\.com<\/a><\/p>$/,
  ],
];

describe.each(blocks)('%s', (_what, block, text, markup) => {
  test('is a paragraph of its own in the plain text', () => {
    expect(messageText({ body: [block] }, english)).toBe(`${text}\n`);
    expect(messageText({ body: ['Before.', block, 'After.'] }, english)).toBe(
      `Before.\n\n${text}\n\nAfter.\n`,
    );
  });

  test('is an element of its own in HTML', () => {
    expect(inner([block])).toMatch(markup);
    expect(inner(['Before.', block, 'After.']).split('\n')).toEqual([
      '<p>Before.</p>',
      expect.stringMatching(markup),
      '<p>After.</p>',
    ]);
  });
});

test('a long link does not make a mail wider than its window', () => {
  expect(html([{ link: 'https://example.com/', name: 'https://example.com/' }])).toMatch(
    /<body style="[^"]*overflow-wrap: anywhere[^"]*">/,
  );
});

test('a message is an HTML document with its language and its encoding, and with its subject as the title', () => {
  expect(html(['Hello.'], 'Tom & Jerry')).toMatch(
    /^<!doctype html>\n<html lang="en" dir="ltr">\n<head><meta charset="utf-8">.*<title>Tom &amp; Jerry<\/title><\/head>\n<body [^>]*>\n<p>Hello\.<\/p>\n<\/body>\n<\/html>\n$/,
  );
});

const MARKUP = `<b onclick="x">&amp;'`;
const ESCAPED = '&lt;b onclick=&quot;x&quot;&gt;&amp;amp;&#39;';

test.each<[string, Block]>([
  ['a paragraph', MARKUP],
  ['a text to be copied', { code: MARKUP }],
  ['the name of a fact', { facts: [[MARKUP, '1']] }],
  ['a fact', { facts: [['Machine', MARKUP]] }],
  ['a link', { link: MARKUP, name: MARKUP }],
  ['the last line', { footer: [MARKUP, { text: '', url: MARKUP }] }],
  ['a heading', { heading: MARKUP, accent: null }],
  ['a step', { steps: [MARKUP] }],
])('nothing in %s becomes markup', (_what, block) => {
  expect(inner([block])).toContain(ESCAPED);
  expect(inner([block]).replaceAll(ESCAPED, '')).not.toMatch(/onclick|amp/);
  expect(messageText({ body: [block] }, english)).toContain(MARKUP);
});

test('no text adds markup characters to the HTML or removes any', () => {
  const markupOf = (text: string) => text.replaceAll(/[^<>"']/g, '');
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, two) => {
      const blocksWith = (text: string, other: string): Block[] => [
        text,
        { code: other },
        { link: text, name: other },
        { footer: [other, { text: '', url: text }] },
        { facts: [[other, text]] },
        { heading: text, accent: ACCENT },
        { steps: [text, other] },
      ];
      expect(markupOf(html(blocksWith(one, two), one))).toBe(markupOf(html(blocksWith('x', 'x'), 'x')));
    }),
  );
});

test.each([
  [
    'the vendor and whom to ask',
    'Example Ltd',
    'help@example.com',
    ['Example Ltd · Support: help@example.com'],
  ],
  ['the vendor', 'Example Ltd', null, ['Example Ltd']],
  ['whom to ask, on a page', null, 'https://example.com/help', ['Support: https://example.com/help']],
  ['nothing', null, null, []],
])(
  'a mail begins with the name of the product, and its last line names %s',
  (_what, vendorName, contact, lines) => {
    const url = contact?.includes('@') ? `mailto:${contact}` : contact;
    const supportContact = url ? { text: 'not shown', url } : null;
    const brand = { productName: 'Example App', accent: null, vendorName, supportContact };
    const { body } = withBrand({ body: ['Hello.'] }, brand, english);
    expect(messageText({ body }, english)).toBe(
      ['Example App', 'Hello.', ...lines].map((line) => `${line}\n`).join('\n'),
    );
  },
);

test('the line of the heading and the links have the accent colour, the links also that of the dark mode', () => {
  const brand = { productName: MARKUP, accent: ACCENT, vendorName: MARKUP, supportContact: null };
  const document = html([...withBrand({ body: ['Hello.'] }, brand, english).body]);
  expect(document).toMatch(/<body[^>]*>\n<h1 [^>]*solid #8a1f4d">&lt;b onclick/);
  expect(document.split(ESCAPED)).toHaveLength(3);
  expect(document).toContain(
    '<style>a { color: #8a1f4d } @media (prefers-color-scheme: dark) { a { color: #d58aab } }</style>',
  );
});
