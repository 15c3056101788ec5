import type { Command, Outcome } from '../license-model.js';
import type { Views } from '../observed-state.js';

/*
 * A recorded history of one license: the requests that several clients sent to several instances at the same time, each with
 * the times of its request and its response.
 */

/** What support and the holder see of the license, read when no call of a client is in progress. */
export interface Look {
  readonly do: 'look';
  readonly of: number;
}

export interface Operation {
  readonly number: number;
  readonly client: number;
  /** The index of the instance that was called. */
  readonly instance: number;
  readonly command: Command | Look;
  /** Milliseconds of a monotonic clock. */
  readonly invoked: number;
  /** Null without a response or with a 503: then the operation may take effect later or never. */
  readonly returned: number | null;
  /** The earliest time whose state the response may show. For a confirmation by a replica it is before the request. */
  readonly earliest: number;
  /** The instance's wall clock in between, from and to. */
  readonly clock: readonly [number, number];
  /** Null if no response came. */
  readonly outcome: Outcome | null;
  /** The id in the response to an activation that is treated as unanswered. Other operations refer to it. */
  readonly observed?: string;
  /** Why there is no response. */
  readonly lost?: string;
}

/** What staff and the holder see, as the result of a `look`. */
export type Shown = Outcome & { readonly shown: Views };

/** Whether an operation with this response changes nothing, so that it may be left out of a contradiction. */
export function isWithoutEffect({ command, outcome }: Operation): boolean {
  return (
    command.do === 'heartbeat' || command.do === 'look' || (outcome !== null && outcome.says.startsWith('4'))
  );
}

/** The same operation without its response, so that it may have taken effect or not. */
export const unanswered = (operation: Operation): Operation => ({
  ...operation,
  returned: null,
  outcome: null,
  ...(operation.command.do === 'activate' &&
    operation.outcome?.binding && { observed: operation.outcome.binding }),
  clock: [operation.clock[0], Math.max(...operation.clock) + UNKNOWN_CLOCK_MS],
});

/** How long after its last sign of activity an operation without an answer may still read the clock. */
export const UNKNOWN_CLOCK_MS = 60_000;

/** The history as text: a line for each operation, in the order in which they were invoked. */
export function printed(operations: readonly Operation[]): string {
  const all = operations.toSorted((a, b) => a.invoked - b.invoked);
  const start = all[0]?.invoked ?? 0;
  const time = (at: number) => (at - start).toFixed(1);
  const names = namesOfBindings(all);
  return all
    .map((operation) => {
      const { client, instance, command, invoked, returned, outcome, lost } = operation;
      const interval = `${time(invoked)}–${returned === null ? '' : time(returned)} ms`;
      const { do: name, ...asked } = command;
      const { says, ...facts } = outcome ?? { says: `no answer (${lost ?? 'not needed'})` };
      const line = `${interval}, client ${client}, instance ${instance}: ${name} ${words(asked)} → ${says} ${words(facts)}`;
      return named(line, names);
    })
    .join('\n');
}

const HIDDEN = new Set([
  'token',
  'of',
  'email',
  'telemetry',
  'app_version',
  'holders',
  'clients',
  'requested',
]);
/** Larger numbers are times. */
const TIMES_FROM = 1e12;

const words = (value: object) =>
  JSON.stringify(value, (key, each: unknown) => {
    if (HIDDEN.has(key)) return undefined;
    return typeof each === 'number' && each > TIMES_FROM ? new Date(each).toISOString().slice(0, 19) : each;
  })
    .replaceAll(/["{}]/g, '')
    .replaceAll(',', ', ');

/** Activations get short names in the order in which they were made known. */
function namesOfBindings(operations: readonly Operation[]): Map<string, string> {
  const ids = operations.flatMap(({ command, outcome }) => [
    ...('binding' in command ? [command.binding] : []),
    ...(outcome?.binding ? [outcome.binding] : []),
  ]);
  return new Map([...new Set(ids)].map((id, i) => [id, `activation ${i + 1}`]));
}

function named(line: string, names: ReadonlyMap<string, string>): string {
  return [...names].reduce((text, [id, name]) => text.replaceAll(id, name), line);
}
