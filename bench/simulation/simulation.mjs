import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../test/client/random.ts';
import { postgresVersion } from '../run.mjs';
import { ConnectionPool } from '../load/connection-pool.mjs';
import { checkDatabase } from './check-database.mjs';
import { Vendor } from './vendor.mjs';
import { Fleet } from './fleet.mjs';
import { AnswerChecker } from './answer-checker.mjs';
import { Pace } from './pace.mjs';
import { runSteps, scenarioSteps } from './scenario.mjs';
import { Environment } from './environment.mjs';
import { Counters } from './counters.mjs';
import { ExpectedState } from './expected-state.mjs';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** How often the service's clock is set, and the due timers of the clients run. */
const TICK_MS = 20;
/** The longest tick that counts in full: a pause of the machine must not end in a burst of simultaneous requests. */
const MAX_TICK_MS = 60;
/** The service is behind if more requests than BEHIND_REQUESTS, or than BEHIND_SHARE of the clients, are in progress. */
const BEHIND_REQUESTS = 192;
const BEHIND_SHARE = 1 / 8;
const MAX_CONNECTIONS = 4_000;

/**
 * Returns the next midnight (UTC) at which a Thursday begins. The simulation begins then, so that its third day is a Saturday, on
 * which offices are closed.
 */
function nextThursday(now = Date.now()) {
  const midnight = Math.ceil(now / DAY_MS) * DAY_MS;
  return midnight + ((4 - new Date(midnight).getUTCDay() + 7) % 7) * DAY_MS;
}

/** Simulates a fleet of clients over several days, and ends the processes that it started. @returns the results */
export async function simulate({ folder, processes, onProgress, interrupted }, options) {
  const ending = new AbortController();
  const environment = new Environment(`${folder}/data`, processes);
  try {
    const run = runSimulation(environment, options, { folder, processes, onProgress, ended: ending.signal });
    return await Promise.race([run, interrupted]);
  } finally {
    ending.abort();
    await environment.end();
  }
}

async function runSimulation(
  environment,
  { clients, days, seed, minutes, hasPlantedFault },
  { folder, processes, onProgress, ended },
) {
  const random = new Random(seed);
  const expected = new ExpectedState(clients, random);
  const span = days * DAY_MS;
  const pace = new Pace(span / (minutes * MINUTE_MS));
  const counters = new Counters(span);
  const epoch = nextThursday();
  const checker = new AnswerChecker(expected, { counters, pace, epoch });
  const licenses = await environment.startDatabaseWithLicenses(expected.machineLimits, folder);
  await environment.startService(epoch);
  const connections = new ConnectionPool(environment.port, MAX_CONNECTIONS);
  ended.addEventListener('abort', () => connections.end());
  const fleet = new Fleet(expected, { checker, connections, pace, random, licenses, days });
  const vendor = new Vendor(expected, { checker, connections, random, licenses, ended });
  const context = {
    environment,
    fleet,
    vendor,
    expected,
    pace,
    epoch,
    processes,
    folder,
    days,
  };
  const phases = [];
  const steps = runSteps(scenarioSteps(context), pace, span, phases);
  const began = performance.now();
  // A step that fails ends the race. Steps that succeed must not end it, so they become a promise that is never fulfilled.
  await Promise.race([
    advance({ fleet, connections, pace, environment, epoch, span, onProgress, ended, clients }),
    steps.then(() => new Promise(() => {})),
  ]);
  await steps;
  const elapsed = performance.now() - began;
  for (; connections.inProgress > 0 && !ended.aborted; await pause(TICK_MS));
  // The last retention run is due in the hour after the last day.
  await environment.runLastRetention(epoch + span + 10 * MINUTE_MS);
  const checks = await environment.withDatabase(async (client) => {
    if (hasPlantedFault) await plantFault(client, expected);
    return checkDatabase(client, expected, epoch + span);
  });
  const version = await postgresVersion(environment.settings.DATABASE_URL);
  return { counters, checker, expected, fleet, phases, checks, elapsed, pace, span, version };
}

/** Deletes an acknowledged activation, to prove that the checks of the database find a loss. */
async function plantFault(client, { activationId }) {
  await client.query('delete from activation where id = $1', [activationId.find((id) => id !== null)]);
}

async function advance({ fleet, connections, pace, environment, epoch, span, onProgress, ended, clients }) {
  const behind = Math.min(BEHIND_REQUESTS, clients * BEHIND_SHARE);
  for (let last = performance.now(); pace.now < span && !ended.aborted;) {
    await pause(TICK_MS);
    const now = performance.now();
    pace.advance(Math.min(now - last, MAX_TICK_MS), connections.inProgress > behind);
    last = now;
    environment.setTime(epoch + pace.now);
    fleet.runDueTimers();
    onProgress(pace.now, span);
  }
}
