import english from '../../src/languages/en.json?shared';
import { translated } from './translated.js';

/** The texts of the components that all pages share. */
export const common = translated('shared', english);

/** Returns the text to show if the service was not reached: the given one, unless the device itself was offline. */
export const unavailableText = ({ isOffline }: { readonly isOffline: boolean }, text: string) =>
  isOffline ? common.offline : text;
