import type { Command, Outcome } from '../license-model.js';
import type { Views } from '../observed-state.js';

/*
 * A recorded history of one license: the requests that several clients sent to several instances at the same time, each with
 * the times of its request and its response.
 */

/** Reads the license as staff and the holder see it, when no call of a client is in progress. */
export interface ReadViews {
  readonly type: 'read-views';
  readonly licenseIndex: number;
}

export interface Operation {
  readonly number: number;
  /** The number of the client, from 1; 0 for the operations before and after those of the clients. */
  readonly client: number;
  /** The number of the instance that was called, from 1. For `read-views` it is 1, whichever instance was called. */
  readonly instance: number;
  readonly command: Command | ReadViews;
  /** When the request was sent, in milliseconds of a monotonic clock. */
  readonly invoked: number;
  /**
   * When the response came. Null without a response, and after one that tells nothing about the effect, such as a 503: then
   * the operation may take effect later or never.
   */
  readonly returned: number | null;
  /**
   * The earliest time whose state the response may show: the time of the request, or an earlier one for a confirmation that
   * may come from a replica, which lags.
   */
  readonly earliest: number;
  /** The lowest and the highest time that the instance's wall clock may have shown during the operation. */
  readonly clock: readonly [number, number];
  /** Null exactly if `returned` is null. */
  readonly outcome: Outcome | null;
  /** The id of the activation in a response that `withoutResponse` removed, kept because other operations contain it. */
  readonly observedId?: string;
  /** Why there is no outcome: `connection lost`, or the code or status of a response that tells nothing about the effect. */
  readonly lossReason?: string;
}

/** The outcome of `read-views`. */
export type ViewsOutcome = Outcome & { readonly views: Views };

/**
 * Whether an operation with this response changes nothing, so that `shrinkHistory` may remove it from a history that is not
 * linearizable.
 */
export function isWithoutEffect({ command, outcome }: Operation): boolean {
  return (
    command.type === 'heartbeat' ||
    command.type === 'read-views' ||
    (outcome !== null && outcome.result.startsWith('4'))
  );
}

/** The same operation without its response, so that it may have taken effect or not. */
export const withoutResponse = (operation: Operation): Operation => ({
  ...operation,
  returned: null,
  outcome: null,
  ...(operation.command.type === 'activate' &&
    operation.outcome?.activationId && { observedId: operation.outcome.activationId }),
  clock: [operation.clock[0], Math.max(...operation.clock) + MAX_CLOCK_READ_DELAY_MS],
});

/** How long after the end of its recorded interval an operation without a response may still read the clock. */
export const MAX_CLOCK_READ_DELAY_MS = 60_000;

/** The history as text: a line for each operation, in the order in which they were invoked. */
export function formatHistory(operations: readonly Operation[]): string {
  const all = operations.toSorted((a, b) => a.invoked - b.invoked);
  const start = all[0]?.invoked ?? 0;
  const time = (at: number) => (at - start).toFixed(1);
  const names = namesOfActivations(all);
  return all
    .map((operation) => {
      const { client, instance, command, invoked, returned, outcome, lossReason } = operation;
      const interval = `${time(invoked)}–${returned === null ? '' : time(returned)} ms`;
      const { type, ...parameters } = command;
      const { result, ...members } = outcome ?? {
        result: `no answer (${lossReason ?? 'the later response is left out'})`,
      };
      const line = `${interval}, client ${client}, instance ${instance}: ${type} ${toText(parameters)} → ${result} ${toText(members)}`;
      return withNames(line, names);
    })
    .join('\n');
}

/** Members that are not printed. */
const HIDDEN = new Set([
  'token',
  'licenseIndex',
  'email',
  'telemetry',
  'app_version',
  'holders',
  'clients',
  'requested',
]);
/** Larger numbers are times in milliseconds. */
const MIN_TIME_MS = 1e12;

const toText = (value: object) =>
  JSON.stringify(value, (key, each: unknown) => {
    if (HIDDEN.has(key)) return undefined;
    return typeof each === 'number' && each > MIN_TIME_MS ? new Date(each).toISOString().slice(0, 19) : each;
  })
    .replaceAll(/["{}]/g, '')
    .replaceAll(',', ', ');

/** Gives activations short names, in the order in which their ids first occur. */
function namesOfActivations(operations: readonly Operation[]): Map<string, string> {
  const ids = operations.flatMap(({ command, outcome }) => [
    ...('activationId' in command ? [command.activationId] : []),
    ...(outcome?.activationId ? [outcome.activationId] : []),
  ]);
  return new Map([...new Set(ids)].map((id, i) => [id, `activation ${i + 1}`]));
}

function withNames(line: string, names: ReadonlyMap<string, string>): string {
  return [...names].reduce((text, [id, name]) => text.replaceAll(id, name), line);
}
