import type { Messages } from '../../../src/languages/messages.js';

/** The texts of a page: some sections of the file of a language. */
export type Texts = Partial<Messages>;
type Section = keyof Messages;

const receivers = new Map<Section, (texts: never) => void>();

/** Registers the function that receives the texts of a section: before the page is rendered, and when the language changes. */
export function receiveTexts<Name extends Section>(
  section: Name,
  receive: (texts: Messages[Name]) => void,
): void {
  receivers.set(section, receive);
}

/** Replaces the texts of all sections of this page. @throws if one is missing; then none is replaced */
export function showTexts(texts: Texts): void {
  for (const section of receivers.keys())
    if (typeof texts[section] !== 'object') throw new Error(`The section ${section} is missing.`);
  for (const [section, receive] of receivers) receive(texts[section] as never);
}
