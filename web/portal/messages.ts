import type { Messages } from '../../src/languages/messages.js';
import { receiveTexts } from '../shared/texts/receive-texts.js';

/** The texts of the portal. `{…}` is filled in, `#` is a number. They are set before the page is rendered. */
export let messages: Messages['portal'];
receiveTexts('portal', (texts) => {
  messages = texts;
});
