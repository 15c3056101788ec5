import deDescriptions from './descriptions/de.json' with { type: 'json' };
import frDescriptions from './descriptions/fr.json' with { type: 'json' };
import jaDescriptions from './descriptions/ja.json' with { type: 'json' };
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import ja from './ja.json' with { type: 'json' };
import type { Descriptions, Messages } from './messages.js';

/** The language of which each other one is a translation. */
export const ENGLISH: Messages = en;

/** The languages that the service comes with, by tag. */
export const BUILT_IN_LANGUAGES: Readonly<Record<string, Messages>> = { en, de, fr, ja };

/** The translations of the descriptions of stored data that the service comes with, by tag. */
export const BUILT_IN_DESCRIPTIONS: Readonly<Record<string, Descriptions>> = {
  de: deDescriptions,
  fr: frDescriptions,
  ja: jaDescriptions,
};

/**
 * The descriptions in English, which are the keys of each translation. Their sources are the comments in the database and the
 * retention policy; a test compares them.
 */
export const ENGLISH_DESCRIPTIONS: Descriptions = Object.fromEntries(
  Object.keys(deDescriptions).map((description) => [description, description]),
);
