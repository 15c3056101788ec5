import { UntrustedText } from '../../shared/text.js';
import { messages } from '../messages.js';

/** The label that the user gave a machine. */
export function Machine({ name }: { name: string | null }) {
  return name?.trim() ? <UntrustedText text={name} /> : <span class="quiet">{messages.unnamedMachine}</span>;
}

/** The same as a text, for sentences and accessible names. */
export const machineText = (name: string | null) => name?.trim() || messages.unnamedMachine;
