import type { Messages } from '../../src/languages/messages.js';
import { receiveTexts } from '../shared/texts/receive-texts.js';

/** All texts of the privacy page, except those in the data of the service. They are set before the page is rendered. */
export let messages: Messages['privacy'];
receiveTexts('privacy', (texts) => {
  messages = texts;
});
