import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import ja from './ja.json' with { type: 'json' };
import type { Messages } from './messages.js';

/** The language of which each other one is a translation. */
export const ENGLISH: Messages = en;

/** The languages that the service comes with, by tag. */
export const BUILT_IN_LANGUAGES: Readonly<Record<string, Messages>> = { en, de, fr, ja };
