import english from '../../src/languages/en.json?portal';

/** All texts of the portal. `{…}` is filled in, `#` is a number. */
export const messages = english;
