import english from '../../src/languages/en.json?privacy';

/** All texts of the privacy page, except those that the service reports. */
export const messages = english;
