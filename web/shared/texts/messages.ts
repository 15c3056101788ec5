import type { Messages } from '../../../src/languages/messages.js';
import { receiveTexts } from './receive-texts.js';

/** The texts of the components that all pages share. They are set before a page is rendered, and when the language changes. */
export let common: Messages['shared'];
receiveTexts('shared', (texts) => {
  common = texts;
});

/** Returns the text to show if the service did not answer: the given one, unless the device itself was offline. */
export const unavailableText = ({ isOffline }: { readonly isOffline: boolean }, text: string) =>
  isOffline ? common.offline : text;
