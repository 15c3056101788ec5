import type { Messages } from '../../src/languages/messages.js';
import { receiveTexts } from '../shared/texts/receive-texts.js';

/** The texts of the privacy page alone; `common` has those of shared components. They are set before the page is rendered. */
export let messages: Messages['privacy'];
receiveTexts('privacy', (texts) => {
  messages = texts;
});
