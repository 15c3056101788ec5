import { describe, expect, test } from '@jest/globals';
import { BUILT_IN_DESCRIPTIONS, BUILT_IN_LANGUAGES, ENGLISH } from '../../src/languages/built-in.js';
import { canonicalTag, directionOf, lookUpLanguage } from '../../src/languages/tags.js';
import { pluralForm, t } from '../../src/languages/text.js';
import { english } from '../support/languages.js';

interface Tree {
  readonly [name: string]: string | Tree;
}

/** The paths of messages that are the same as in English, because both languages use the same word or pattern. */
const SAME_AS_ENGLISH: Readonly<Record<string, readonly string[]>> = {
  de: ['portal.signIn.code', 'mail.facts.fact', 'mail.facts.updates', 'mail.activation.lead'],
  fr: [
    'portal.signIn.code',
    'portal.license.statuses.active',
    'portal.license.statuses.updates_ended',
    'mail.facts.activations',
    'mail.activation.lead',
  ],
  ja: ['mail.facts.fact'],
};
/** English words that no translation contains. */
const ENGLISH_WORDS = /\b(the|your|you|and|with|of|this|it)\b/i;

const PLURAL_FORMS = ['zero', 'one', 'two', 'few', 'many', 'other'];
const hasPluralForms = (tree: Tree) => Object.keys(tree).every((name) => PLURAL_FORMS.includes(name));

/** The messages by path, each with its forms; a message without a number has the form `text`. */
function messagesOf(tree: Tree, path = ''): [string, Record<string, string>][] {
  return Object.entries(tree).flatMap(([name, value]): [string, Record<string, string>][] => {
    const childPath = path ? `${path}.${name}` : name;
    if (typeof value === 'string') return [[childPath, { text: value }]];
    return hasPluralForms(value)
      ? [[childPath, value as Record<string, string>]]
      : messagesOf(value, childPath);
  });
}

const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].toSorted();

const source = messagesOf(ENGLISH);

test('English has messages of pages and of mails, with and without numbers', () => {
  const paths = source.map(([path]) => path);
  expect(paths).toEqual(expect.arrayContaining(['portal.summary.free', 'mail.code.subject', 'shared.skip']));
  expect(paths.length).toBeGreaterThan(250);
});

describe.each(Object.keys(BUILT_IN_LANGUAGES))('%s', (tag) => {
  const messages = new Map(messagesOf(BUILT_IN_LANGUAGES[tag]!));

  test('has every message, and no other', () => {
    expect([...messages.keys()].toSorted()).toEqual(source.map(([path]) => path).toSorted());
  });

  test('has the placeholders of the English messages, in each form', () => {
    for (const [path, forms] of source) {
      const expected = placeholders(Object.values(forms).join(' '));
      for (const form of Object.values(messages.get(path)!))
        expect([path, placeholders(form)]).toEqual([path, expected]);
    }
  });

  test('has the plural forms that the language needs, and the number in the form `other`', () => {
    const needed = new Intl.PluralRules(tag).resolvedOptions().pluralCategories.toSorted();
    const numbered = source.filter(([, forms]) => !('text' in forms));
    expect(numbered.length).toBeGreaterThan(8);
    for (const [path, forms] of numbered) {
      const translated = messages.get(path)!;
      expect([path, Object.keys(translated).toSorted()]).toEqual([path, needed]);
      if (forms['other']!.includes('#'))
        expect([path, translated['other']]).toEqual([path, expect.stringContaining('#')]);
    }
  });

  test('has no empty text, no markup and no space at an end', () => {
    for (const [path, forms] of messages)
      for (const form of Object.values(forms)) {
        expect([path, form]).toEqual([path, expect.stringMatching(/^\S(.*\S)?$/s)]);
        expect([path, form]).toEqual([path, expect.not.stringMatching(/[<>\p{Cc}]/u)]);
      }
  });

  test('has the sign-in code at the start of the subject of its mail', () => {
    expect(messages.get('mail.code.subject')!['text']).toMatch(/^\{code\}/);
  });
});

test.each(Object.keys(SAME_AS_ENGLISH))('%s leaves no message in English', (tag) => {
  const messages = new Map(messagesOf(BUILT_IN_LANGUAGES[tag]!));
  const equal = source.filter(([path, forms]) =>
    Object.values(messages.get(path)!).some((form) => Object.values(forms).includes(form)),
  );
  expect(equal.map(([path]) => path)).toEqual(SAME_AS_ENGLISH[tag]);
  const withWords = [...messages].filter(([, forms]) =>
    Object.values(forms).some((form) => ENGLISH_WORDS.test(t(form, {}).replaceAll(/\{\w+\}/g, ''))),
  );
  expect(withWords).toEqual([]);
});

test('the languages with a list of equal messages are all but English', () => {
  expect(Object.keys(SAME_AS_ENGLISH)).toEqual(Object.keys(BUILT_IN_LANGUAGES).filter((tag) => tag !== 'en'));
});

test.each(Object.entries(BUILT_IN_DESCRIPTIONS))(
  'the descriptions of stored data in %s have no English word, and the placeholders and full stops of the English ones',
  (_tag, descriptions) => {
    const isSentence = (text: string) => /[.。]$/.test(text);
    for (const [english, text] of Object.entries(descriptions)) {
      expect(text).not.toBe(english);
      expect(text).toMatch(/^\S(.*\S)?$/);
      expect(text).not.toMatch(/[<>\p{Cc}]/u);
      expect(text).not.toMatch(ENGLISH_WORDS);
      expect([english, placeholders(text), isSentence(text)]).toEqual([
        english,
        placeholders(english),
        isSentence(english),
      ]);
    }
  },
);

test.each<[string, readonly string[], readonly string[], string | undefined]>([
  ['the same tag', ['de'], ['en', 'de'], 'de'],
  ['a tag in another case', ['PT-br'], ['pt-BR'], 'pt-BR'],
  ['the language without its region', ['de-AT', 'en'], ['en', 'de'], 'de'],
  ['the same script before the language', ['zh-Hant-TW'], ['zh', 'zh-Hant'], 'zh-Hant'],
  ['the first that is available', ['sv', 'fr-CA', 'de'], ['en', 'de', 'fr'], 'fr'],
  ['a valid tag after an invalid one', ['en-US@posix', '', 'de'], ['en', 'de'], 'de'],
  ['no other region', ['pt'], ['pt-BR'], undefined],
  ['nothing for invalid tags', ['C', '*', 'x'.repeat(500), 'de_DE'], ['en', 'de'], undefined],
])('the best language is %s', (_what, wanted, available, expected) => {
  expect(lookUpLanguage(wanted, available)).toBe(expected);
});

test('a tag is canonical or invalid', () => {
  expect(['de-at', 'ZH-hant', 'en-US@posix', 'C', ''].map(canonicalTag)).toEqual([
    'de-AT',
    'zh-Hant',
    undefined,
    undefined,
    undefined,
  ]);
});

test('the direction of a language is that of its script', () => {
  expect(['de', 'ja', 'pa', 'ku'].map(directionOf)).toEqual(['ltr', 'ltr', 'ltr', 'ltr']);
  expect(['ar', 'he', 'pa-PK', 'ku-Arab'].map(directionOf)).toEqual(['rtl', 'rtl', 'rtl', 'rtl']);
});

test('the direction of a language is found in a browser whose Intl.Locale has no getTextInfo', () => {
  const method = Object.getOwnPropertyDescriptor(Intl.Locale.prototype, 'getTextInfo')!;
  Reflect.deleteProperty(Intl.Locale.prototype, 'getTextInfo');
  try {
    expect(directionOf('ar')).toBe('rtl');
  } finally {
    Object.defineProperty(Intl.Locale.prototype, 'getTextInfo', method);
  }
});

test('values are filled in as they are, and are not searched for placeholders', () => {
  expect(t('{a} and {b}, {a}, {c}', { a: '{b}$&', b: '<i>' })).toBe('{b}$& and <i>, {b}$&, {c}');
});

test.each<[string, number, string]>([
  ['en', 1, '1 file'],
  ['en', 0, '0 files'],
  ['pl', 3, '3 files (few)'],
  ['pl', 5, '5 files'],
])('in %s the form for %d is "%s"', (tag, count, expected) => {
  const forms = { one: '# file', few: '# files (few)', other: '# files' };
  expect(pluralForm(forms, count, new Intl.PluralRules(tag), String(count))).toBe(expected);
});

test('in English mails a day is written as 20 November 2026, and a time in UTC', () => {
  const time = new Date('2026-11-20T00:00:00Z');
  expect(english.formatDay(time)).toBe('20 November 2026');
  expect(english.formatLastDay(time)).toBe('19 November 2026');
  expect(english.formatMoment(new Date('2026-11-20T13:00:00Z'))).toBe('20 November 2026 at 13:00 UTC');
  expect(english.formatNumber(12_000)).toBe('12,000');
});
