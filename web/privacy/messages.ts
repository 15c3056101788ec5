import english from '../../src/languages/en.json?privacy';
import { translated } from '../shared/translated.js';

/** All texts of the privacy page, except those that the service reports. */
export const messages = translated('privacy', english);
