import english from '../../src/languages/en.json?portal';
import { translated } from '../shared/translated.js';

/** All texts of the portal. `{…}` is filled in, `#` is a number. */
export const messages = translated('portal', english);
