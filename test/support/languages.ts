import { BUILT_IN_LANGUAGES } from '../../src/languages/built-in.js';
import { Language } from '../../src/languages/language.js';

/** A language that the service comes with. */
export const builtIn = (tag: string) => new Language(tag, BUILT_IN_LANGUAGES[tag]!);

export const english = builtIn('en');
