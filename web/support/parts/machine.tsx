import type { Activation } from '../../../src/http/responses/api-types.js';
import { ExactTime } from '../../shared/dates/exact-time.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';

/** The label that the user gave a machine. */
export function Machine({ name }: { name: string | null }) {
  return name?.trim() ? <UntrustedText text={name} /> : <span class="quiet">{messages.unnamedMachine}</span>;
}

/** What `Machine` shows, as a text for sentences and accessible names. */
export const machineText = (name: string | null) => name?.trim() || messages.unnamedMachine;

/**
 * The end of an id. That of an activation id tells machines with the same label apart, also in mails and in the portal; that of a
 * staff id tells removed persons apart.
 */
export const shortId = (id: string) => `…${id.slice(-4)}`;

/** Returns a function for the name of each machine: its label, with the end of its id if the label does not identify it. */
export function machineNames(activations: readonly Activation[]): (activation: Activation) => string {
  const counts = new Map<string, number>();
  for (const { hostname_hint } of activations) {
    const text = machineText(hostname_hint);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return ({ id, hostname_hint }) => {
    const text = machineText(hostname_hint);
    return hostname_hint?.trim() && counts.get(text) === 1 ? text : `${text} ${shortId(id)}`;
  };
}

/** What tells a machine apart from others with the same label. */
export function MachineDetails({
  activation: { id, activated_at, app_version },
}: {
  activation: Activation;
}) {
  return (
    <span class="details">
      {fill(messages.machineDetails, {
        day: <ExactTime at={activated_at} />,
        version: <UntrustedText text={app_version} />,
        id: <span class="mono end">{shortId(id)}</span>,
      })}
    </span>
  );
}

/** A machine in two lines: its label, and what tells it apart from others. */
export function MachineWithDetails({ activation }: { activation: Activation }) {
  return (
    <span class="machine">
      <Machine name={activation.hostname_hint} />
      <MachineDetails activation={activation} />
    </span>
  );
}
