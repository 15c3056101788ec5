import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Config, ConfigError } from '../../src/core/config.js';
import { AppLogger } from '../../src/core/logger.js';
import { BUILT_IN_DESCRIPTIONS, BUILT_IN_LANGUAGES, ENGLISH } from '../../src/languages/built-in.js';
import { Languages } from '../../src/languages/languages.service.js';
import { temporaryFolder } from '../support/folders.js';

let folder: string;
let lines: string[];
beforeEach(() => {
  folder = temporaryFolder();
  lines = [];
});

function readLanguages(settings: Record<string, string> = {}): Languages {
  const destination = new Writable({
    write: (chunk, _encoding, done) => (lines.push(String(chunk)), done()),
  });
  const config = new Config({
    LANGUAGES_DIR: folder,
    ...settings,
  });
  return new Languages(config, new AppLogger('info', destination));
}

const writeLanguageFile = (name: string, content: unknown) =>
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

test('a complete file, with a byte order mark, adds a language to pages and mails, without a warning', () => {
  const messages = structuredClone(ENGLISH) as unknown as { portal: Record<string, string> };
  messages.portal['question'] = 'Waar is mijn licentie actief?';
  writeLanguageFile('nl.json', `\uFEFF${JSON.stringify(messages)}`);
  const languages = readLanguages({ MAIL_LANGUAGE: 'nl' });
  expect(languages.views.map(({ tag }) => tag)).toEqual(['en', 'de', 'fr', 'ja', 'nl']);
  expect(languages.textsOf('nl', 'portal')).toMatchObject({
    portal: { question: 'Waar is mijn licentie actief?' },
  });
  expect([languages.bestFor('nl-BE, en;q=0.5'), languages.find(undefined).tag]).toEqual(['nl', 'nl']);
  expect(languages.find(undefined).formatDay(new Date('2026-11-20T00:00:00Z'))).toBe('20 november 2026');
  expect(logged()).toEqual([]);
});

test('an incomplete file is used, with English messages in place of those that it lacks', () => {
  writeLanguageFile('nl.json', { portal: { name: 'Licentieportaal' } });
  const languages = readLanguages();
  expect(languages.find('nl').messages.portal).toEqual({ ...ENGLISH.portal, name: 'Licentieportaal' });
  expect(logged()).toMatchObject([
    {
      msg: 'a file in LANGUAGES_DIR has errors, and its other messages are used',
      file: 'nl.json',
      problems: expect.any(Number),
      first_problems: expect.stringMatching(/^shared\.skip is missing; shared\.language is missing; /),
    },
  ]);
});

test('a file for a language of the service replaces some of its messages, without a warning', () => {
  writeLanguageFile('de.json', { portal: { name: 'Lizenzen' } });
  const before = readLanguages({ LANGUAGES_DIR: '' }).views.find(({ tag }) => tag === 'de');
  const languages = readLanguages();
  expect(languages.find('de').messages.portal).toEqual({
    ...BUILT_IN_LANGUAGES['de']!.portal,
    name: 'Lizenzen',
  });
  expect(languages.views.find(({ tag }) => tag === 'de')).not.toEqual(before);
  expect(logged()).toEqual([]);
});

test('a file for English replaces the messages of the service', () => {
  const [before] = readLanguages().views;
  writeLanguageFile('en.json', { portal: { name: 'Licenses' } });
  const [english] = readLanguages().views;
  expect(english).toEqual({ tag: 'en', version: expect.any(String) });
  expect(english).not.toEqual(before);
});

describe('a message that cannot be used is replaced, and the warning names it', () => {
  test.each<[string, object, string]>([
    ['an object', { portal: { name: {} } }, 'portal.name must be a text that is not blank'],
    ['a number', { portal: { name: 7 } }, 'portal.name must be a text that is not blank'],
    ['a blank text', { portal: { name: ' ' } }, 'portal.name must be a text that is not blank'],
    ['a list', { portal: [] }, 'portal must be an object'],
    ['two lines', { portal: { name: 'a\nb' } }, 'portal.name has a control character'],
    [
      'an extra placeholder',
      { portal: { name: '{email}' } },
      'portal.name must have these placeholders: none',
    ],
    [
      'a missing placeholder',
      { portal: { session: { as: 'Aangemeld' } } },
      'portal.session.as must have these placeholders: {email}',
    ],
    [
      'a text in place of plural forms',
      { portal: { data: { ends: 'x' } } },
      'portal.data.ends must be an object with at least the plural form "other"',
    ],
    [
      'no plural form `other`',
      { portal: { data: { ends: { one: 'x' } } } },
      'portal.data.ends must be an object with at least the plural form "other"',
    ],
    [
      'an unknown plural form',
      { portal: { data: { ends: { other: 'x', several: 'y' } } } },
      'portal.data.ends may have these forms only: zero, one, two, few, many, other',
    ],
    ['an unknown name', { portal: { nmae: 'x' } }, 'portal.nmae is not the name of a message'],
    [
      'the name of a JavaScript property',
      JSON.parse('{"portal":{"__proto__":{"name":"x"}}}') as object,
      'portal.__proto__ is not the name of a message',
    ],
  ])('%s', (_what, content, problem) => {
    // All other messages are given, so that the warning is about the wrong one alone.
    const others = { ...(structuredClone(ENGLISH) as unknown as Record<string, unknown>) };
    const [[section, members]] = Object.entries(content) as [[string, object]];
    others[section] = Array.isArray(members)
      ? members
      : merge(others[section] as Record<string, unknown>, members as Record<string, unknown>);
    writeLanguageFile('nl.json', others);
    const { messages } = readLanguages().find('nl');
    expect(messages).toEqual(ENGLISH);
    expect(logged()).toHaveLength(1);
    expect(logged()[0]!['first_problems']).toBe(problem);
  });
});

/** Replaces members of a section of messages; in the groups `data` and `session`, only the changed members are replaced. */
function merge(target: Record<string, unknown>, changes: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...target };
  for (const [name, value] of Object.entries(changes)) {
    const before = merged[name];
    const isGroup = name === 'data' || name === 'session';
    // An assignment to `__proto__` would add no member.
    Object.defineProperty(merged, name, {
      value: isGroup ? { ...(before as object), ...(value as object) } : value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return merged;
}

test('a file in the folder `descriptions` translates descriptions of stored data, and the warning names what it lacks', () => {
  mkdirSync(join(folder, 'descriptions'));
  writeLanguageFile('nl.json', ENGLISH);
  writeLanguageFile('descriptions/nl.json', { 'Licenses.': 'Licenties.', 'The license.': 7, Lisences: 'x' });
  writeLanguageFile('descriptions/de.json', { 'Licenses.': 'Alle Lizenzen.' });
  const languages = readLanguages();
  const dutch = languages.descriptionsIn('nl');
  expect([dutch['Licenses.'], dutch['The license.'], dutch['Lisences']]).toEqual([
    'Licenties.',
    'The license.',
    undefined,
  ]);
  expect(languages.descriptionsIn('de')).toEqual({
    ...BUILT_IN_DESCRIPTIONS['de'],
    'Licenses.': 'Alle Lizenzen.',
  });
  expect(languages.views.map(({ tag }) => tag)).toEqual(['en', 'de', 'fr', 'ja', 'nl']);
  expect(logged().map(({ file }) => file)).toEqual(['descriptions/nl.json']);
  expect(logged()[0]!['first_problems']).toMatch(/^Lisences is not the name of a message; .* is missing; /);
});

test('a language without descriptions of stored data gives no warning', () => {
  writeLanguageFile('nl.json', ENGLISH);
  expect(readLanguages().descriptionsIn('nl')).toEqual({});
  expect(logged()).toEqual([]);
});

test('plural forms of the language are kept', () => {
  const ends = { one: 'jedna #', few: 'kilka #', many: 'wiele #', other: 'inne #' };
  writeLanguageFile('pl.json', { portal: { data: { ends } } });
  expect(readLanguages().find('pl').messages.portal.data.ends).toEqual(ends);
});

test.each<[string, string, string, string]>([
  ['no JSON', 'nl.json', '{"portal":', 'it is not valid JSON'],
  ['a list', 'nl.json', '[]', 'it is no JSON object'],
  ['too large', 'nl.json', `{"x":"${'x'.repeat(300_000)}"}`, 'it has more than 256 KiB'],
  ['named in the wrong case', 'nl-be.json', '{}', 'its name must be a language tag: nl-BE.json'],
  ['not named by a tag', 'texts_1.json', '{}', 'its name must be a language tag, such as nl.json'],
])(
  'a file that is %s is not used, and the service starts with the others',
  (_what, name, content, reason) => {
    writeLanguageFile(name, content);
    writeLanguageFile('sv.json', { portal: { name: 'Licenser' } });
    mkdirSync(join(folder, 'folder.json'));
    const tags = readLanguages().views.map(({ tag }) => tag);
    expect(tags).toEqual(['en', 'de', 'fr', 'ja', 'sv']);
    expect(logged()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ msg: 'a file in LANGUAGES_DIR is not used', file: name, reason }),
      ]),
    );
  },
);

test('a folder that does not exist gives a warning', () => {
  const languages = readLanguages({ LANGUAGES_DIR: join(folder, 'none') });
  expect(languages.views).toHaveLength(4);
  expect(logged()).toMatchObject([
    {
      msg: 'a folder of LANGUAGES_DIR cannot be read, so it adds no text',
      folder: join(folder, 'none'),
      reason: 'ENOENT',
    },
  ]);
});

test('a MAIL_LANGUAGE without a file gives a warning, and one that is no language tag stops the start', () => {
  expect(readLanguages({ MAIL_LANGUAGE: 'nl' }).find(undefined).tag).toBe('en');
  expect(logged()).toMatchObject([{ msg: 'MAIL_LANGUAGE has no file, so English replaces it' }]);
  expect(readLanguages({ MAIL_LANGUAGE: 'DE' }).find(undefined).tag).toBe('de');
  expect(() => readLanguages({ MAIL_LANGUAGE: 'en_US:en' })).toThrow(
    new ConfigError('MAIL_LANGUAGE must be a language tag, such as de or pt-BR.'),
  );
});

test.each<[string | undefined, string | undefined]>([
  [undefined, undefined],
  ['*', undefined],
  ['sv', undefined],
  ['de', 'de'],
  ['de-CH, fr;q=0.9', 'de'],
  ['fr;q=0.2, ja;q=0.8', 'ja'],
  ['de;q=0, fr', 'fr'],
  ['xx, <b>, de;q=x, ja', 'ja'],
  [`${'sv,'.repeat(30)}de`, undefined],
])('the best language for accept-language %s is %s', (header, expected) => {
  expect(readLanguages().bestFor(header)).toBe(expected);
});
