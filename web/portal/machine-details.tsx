import type { ComponentChild } from 'preact';
import type { HolderActivation } from '../../src/http/responses/api-types.js';
import { formatDay } from '../shared/dates/dates.js';
import { fill } from '../shared/texts/text.js';
import { messages } from './messages.js';

interface Props {
  readonly activation: HolderActivation;
  /** The day of the activation; as text by default. */
  readonly day?: ComponentChild;
}

/**
 * Distinguishes machines with the same label: the day and version of the activation, and the end of the activation id.
 */
export function MachineDetails({ activation, day }: Props) {
  const { id, app_version, activated_at } = activation;
  const details = {
    day: day ?? formatDay(activated_at),
    version: <span class="untrusted">{app_version}</span>,
    id: <span class="mono">…{id.slice(-4)}</span>,
  };
  return <>{fill(messages.machines.details, details)}</>;
}
