import { UntrustedText } from '../../shared/text.js';
import { messages } from '../messages.js';

/** What a machine calls itself. */
export function Machine({ name }: { name: string | null }) {
  return name?.trim() ? <UntrustedText text={name} /> : <span class="quiet">{messages.unnamedMachine}</span>;
}

export const machineText = (name: string | null) => name?.trim() || messages.unnamedMachine;
