import type { Command } from 'commander';
import {
  EVENT_STATES,
  listEvents,
  resendEvents,
  type EventSelection,
  type EventState,
  type EventView,
} from '../events/event-selection.js';
import { stopRecording } from '../events/event-recording.js';
import { withDatabase } from './context/command-context.js';
import { choiceOption, moment, uuid, wholeNumber } from './terminal/options.js';
import { aligned, auditContextOf, CommandError, print, UsageError, withIdName } from './terminal/output.js';

interface SelectionOptions {
  readonly since?: Date;
  readonly license?: string;
}

/** Adds the commands of `events`. */
export function eventCommands(events: Command): void {
  const withSelection = (name: string) =>
    events
      .command(name)
      .option('--since <when>', 'only events that happened at or after this time', moment('--since'))
      .option('--license <id>', 'only events of this license', uuid('--license'));
  withSelection('list')
    .description('list the recorded events, the newest first')
    .addOption(choiceOption('--state <state>', 'only events in this state', EVENT_STATES))
    .option('--limit <number>', 'at most this many (default: 50)', wholeNumber('--limit', 1, 10_000))
    .action(list);
  withSelection('resend')
    .argument('[id...]', 'ids of events, as `events list` prints them')
    .option('--given-up', 'only events that were given up')
    .description('send events again, also those that were delivered, with the same ids')
    .action(resend);
  events.command('stop').description('stop recording events, and delete those that are stored').action(stop);
}

async function list(
  { since, license, state, limit = 50 }: SelectionOptions & { state?: EventState; limit?: number },
  command: Command,
): Promise<void> {
  const selection = { since, license_id: license, state };
  const listed = await withDatabase(({ dataSource }) => listEvents(dataSource, selection, limit));
  const value = listed.map((event) => withIdName('event', event));
  const none = 'No such event is recorded. `mooring status` says whether events are recorded.';
  print(command, value, listed.length > 0 ? eventTable(listed) : none);
}

async function resend(
  ids: readonly string[],
  { since, license, givenUp }: SelectionOptions & { givenUp?: true },
  command: Command,
): Promise<void> {
  ids.forEach(uuid('Each argument'));
  if (ids.length === 0 && !since && !license && !givenUp)
    throw new UsageError('Name the events to send again: ids, --since, --license or --given-up.');
  const selection: EventSelection = {
    ids: ids.length > 0 ? ids : undefined,
    since,
    license_id: license,
    state: givenUp && 'given_up',
  };
  const count = await withDatabase(({ dataSource, clock }) =>
    resendEvents(dataSource, selection, auditContextOf(command), clock.now()),
  );
  if (count === 0) throw new CommandError('No recorded event was selected: `events list` shows them.');
  const sender = 'An instance with EVENTS_URL sends them now.';
  print(command, { events: count }, `Events to be sent again: ${count}. ${sender}`);
}

async function stop(_options: unknown, command: Command): Promise<void> {
  const count = await withDatabase(({ dataSource, clock, config }) => {
    if (config.eventEndpoint)
      throw new CommandError(
        'Remove EVENTS_URL and EVENTS_SECRET first: the next start would record events again.',
      );
    return stopRecording(dataSource, auditContextOf(command), clock.now());
  });
  print(command, { events: count }, `Events are not recorded any more. Deleted: ${count}.`);
}

function eventTable(events: readonly EventView[]): string {
  const head = ['Event', 'Type', 'License', 'Happened', 'State', 'Failed', 'Why'];
  const rows = events.map(({ id, type, data, occurred_at, state, attempts, last_error }) => [
    id,
    type,
    String(data['license_id'] ?? '-'),
    occurred_at,
    state === 'given_up' ? 'given up' : state,
    String(attempts),
    last_error ?? '-',
  ]);
  return aligned([head, ...rows]);
}
