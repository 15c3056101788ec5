import type english from './en.json';

/** The forms of a message that depends on a number, by plural category. A form that is missing is replaced by `other`. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

type Translated<Texts> = Texts extends string
  ? string
  : keyof Texts extends Intl.LDMLPluralRule
    ? Forms
    : { readonly [Name in keyof Texts]: Translated<Texts[Name]> };

/** All messages of one language. Their names are those of the English file, which is the source of the others. */
export type Messages = Translated<typeof english>;

/**
 * Translations of the descriptions of stored data on the privacy page. The key is the English description. When that text changes,
 * its old translation no longer applies. A translation that equals the English text counts as missing.
 */
export type Descriptions = Readonly<Record<string, string>>;
