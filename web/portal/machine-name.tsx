import type { HolderActivation } from '../../src/http/responses/api-types.js';
import { UntrustedText } from '../shared/texts/text.js';
import { messages } from './messages.js';

/** The label that the user gave a machine. */
export function MachineName({
  activation: { hostname_hint },
}: {
  activation: Pick<HolderActivation, 'hostname_hint'>;
}) {
  const name = hostname_hint?.trim();
  return name ? <UntrustedText text={name} /> : <span class="unnamed">{messages.machines.unnamed}</span>;
}
