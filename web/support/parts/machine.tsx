import { Stranger } from '../../shared/fill.js';
import { words } from '../words.js';

/** What a machine calls itself. */
export function Machine({ name }: { name: string | null }) {
  return name?.trim() ? <Stranger text={name} /> : <span class="quiet">{words.unnamedMachine}</span>;
}

export const machineText = (name: string | null) => name?.trim() || words.unnamedMachine;
