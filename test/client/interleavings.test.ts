import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../fuzz/fuzz.js';
import { releaseAll, releaseQueued } from '../support/interleavings.js';
import { DAY, HOUR } from './harness.js';
import { ANSWERS, NO_FAULTS, ScheduledComputer, type AnswerKind, type Faults } from './scheduled-computer.js';

/** The steps of a scenario. The first three advance time to the next timer, by no more than a day, three seconds or an hour. */
const COMMANDS = {
  'a timer': (computer: ScheduledComputer) => computer.tick(DAY),
  'three seconds': (computer: ScheduledComputer) => computer.tick(3_000),
  'an hour': (computer: ScheduledComputer) => computer.tick(HOUR),
  activate: (computer: ScheduledComputer) => computer.activate(),
  'close the window': (computer: ScheduledComputer) => computer.closeWindow(),
  retry: ({ run }: ScheduledComputer) => run.client.heartbeatNow(),
  'check for an update': ({ run }: ScheduledComputer) => run.client.checkForUpdate(),
  crash: ({ run }: ScheduledComputer) => run.client.reportCrash({ crash_kind: 'native' }),
  restart: (computer: ScheduledComputer) => computer.restart(1_000),
  'restart after three days': (computer: ScheduledComputer) => computer.restart(3 * DAY),
  'restart after eight days': (computer: ScheduledComputer) => computer.restart(8 * DAY),
  kill: (computer: ScheduledComputer) => computer.kill(),
};
type Command = keyof typeof COMMANDS;

/** True in one of n cases. */
const oneIn = (n: number) => fc.integer({ min: 1, max: n }).map((drawn) => drawn === 1);
const faults = (readFails: fc.Arbitrary<boolean>): fc.Arbitrary<Faults> =>
  fc.record({
    answers: fc
      .array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constant<AnswerKind[]>(['confirm']) },
          { weight: 4, arbitrary: fc.constantFrom(...ANSWERS.map((answer) => [answer])) },
          {
            weight: 1,
            arbitrary: fc.constantFrom<AnswerKind[]>(['reactivate', 'full'], ['stop', 'reactivate']),
          },
        ),
        { minLength: 1, maxLength: 10 },
      )
      .map((answers) => answers.flat()),
    manifests: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 6 }),
    reads: fc.array(readFails, { minLength: 1, maxLength: 6 }),
    writes: fc.array(oneIn(4), { minLength: 1, maxLength: 6 }),
  });
const scenario = (commands: Command[]): fc.Arbitrary<Command[]> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant<Command>('a timer') },
      { weight: 2, arbitrary: fc.constant<Command>('check for an update') },
      { weight: 6, arbitrary: fc.constantFrom(...commands) },
    ),
    { minLength: 4, maxLength: 20 },
  );
const ALL = Object.keys(COMMANDS) as Command[];

/** Runs commands concurrently, in the order of the scheduler, and then checks that everything works again. */
async function runCommands(
  scheduler: fc.Scheduler,
  computer: ScheduledComputer,
  commands: Command[],
): Promise<void> {
  // `releaseAll` calls this before each step. It returns true: the client always waits for the scheduler, never for real I/O.
  const observeStatus = () => {
    const { run } = computer;
    if (run.status !== undefined) run.observe(run.client.status);
    return true;
  };
  const work = commands.map(async (command) => {
    await computer.pause(command);
    const { killed } = computer.run;
    // A refusal of Activate is shown to the user and does not change the status.
    const done = Promise.resolve(COMMANDS[command](computer)).catch(() => {});
    await Promise.race([done, killed]);
  });
  await releaseAll(scheduler, Promise.all(work), observeStatus);
  expect(computer.violations).toEqual([]);

  // Everything works again: the user clicks Activate, and the application runs.
  computer.endFaults();
  const { client } = computer.run;
  await releaseAll(scheduler, computer.activate(), observeStatus);
  expect(client.status.kind).toBe('running');
  await releaseQueued(scheduler);
  await releaseAll(scheduler, computer.restart(DAY), observeStatus);
  expect(computer.run.client.status.kind).toBe('running');
  await releaseAll(scheduler, computer.run.client.close());
  expect(computer.time.pending.size).toBe(0);
  expect(computer.violations).toEqual([]);
}

test('no order of answers, clicks, restarts and failing reads and writes stops a paid application or brings an older state back', () =>
  fc.assert(
    fc.asyncProperty(fc.scheduler(), faults(oneIn(4)), scenario(ALL), async (scheduler, faulty, commands) => {
      const computer = new ScheduledComputer(scheduler);
      await releaseAll(scheduler, computer.startActivated(faulty));
      await runCommands(scheduler, computer, commands);
    }),
    runs(150),
  ));

test('an activation that is made while the state cannot be read is kept, whatever the state file contains later', () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      faults(oneIn(2)),
      scenario(['activate', 'retry', 'three seconds', 'crash']),
      fc.constantFrom(0, 8 * DAY),
      async (scheduler, faulty, commands, elapsedMs) => {
        const computer = new ScheduledComputer(scheduler);
        await releaseAll(scheduler, computer.startActivated(NO_FAULTS));
        computer.time.wall += elapsedMs;
        await releaseAll(scheduler, computer.reopenWithFaults({ ...faulty, reads: [true, ...faulty.reads] }));
        await runCommands(scheduler, computer, commands);
      },
    ),
    runs(150),
  ));
