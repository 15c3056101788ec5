import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../test/client/random.ts';
import { versionOf } from '../run.mjs';
import { ConnectionPool } from '../load/connection-pool.mjs';
import { checkDatabase } from './check-database.mjs';
import { Vendor } from './vendor.mjs';
import { Fleet } from './fleet.mjs';
import { AnswerChecker } from './answer-checker.mjs';
import { Pace } from './pace.mjs';
import { direct, scenario } from './scenario.mjs';
import { Environment } from './environment.mjs';
import { Counters } from './counters.mjs';
import { ExpectedState } from './expected-state.mjs';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How often the service's clock is set and the clients act that are due. */
const TICK_MS = 20;
/** The most that a late tick makes up for: what the machine did meanwhile must not become simultaneous requests. */
const LATE_MS = 60;
/** With so many requests under way the service is behind; a small fleet never has as many, so with an eighth of it. */
const BEHIND = 192;
const PART_BEHIND = 1 / 8;
const MOST_CONNECTIONS = 4_000;

/** The first midnight of a Thursday (UTC) from now on. */
export function nextThursday(now = Date.now()) {
  const midnight = Math.ceil(now / DAY) * DAY;
  return midnight + ((4 - new Date(midnight).getUTCDay() + 7) % 7) * DAY;
}

/** Plays so many clients over so many days; interrupted, it ends what it started. @returns all that was seen */
export async function simulate({ folder, processes, onProgress, interrupted }, options) {
  const over = new AbortController();
  const environment = new Environment(`${folder}/data`, processes);
  try {
    const whole = runSimulation(environment, options, { folder, processes, onProgress, over: over.signal });
    return await Promise.race([whole, interrupted]);
  } finally {
    over.abort();
    await environment.end();
  }
}

async function runSimulation(
  environment,
  { clients, days, seed, minutes, plant },
  { folder, processes, onProgress, over },
) {
  const random = new Random(seed);
  const expected = new ExpectedState(clients, random);
  const span = days * DAY;
  const pace = new Pace(span / (minutes * MINUTE));
  const counters = new Counters(span);
  const epoch = nextThursday();
  const checker = new AnswerChecker(expected, { counters, pace, epoch });
  const licenses = await environment.fill(expected.seats, folder);
  await environment.startService(epoch);
  const connections = new ConnectionPool(environment.port, MOST_CONNECTIONS);
  over.addEventListener('abort', () => connections.end());
  const fleet = new Fleet(expected, { checker, connections, pace, random, licenses, days });
  const vendor = new Vendor(expected, { checker, connections, random, licenses, over });
  const scene = { environment, fleet, vendor, expected, pace, epoch, processes, folder, plant, days };
  const phases = [];
  const directed = direct(scenario(scene), pace, span, phases);
  const began = performance.now();
  // A scene that fails ends the play.
  await Promise.race([
    advance({ fleet, connections, pace, environment, epoch, span, onProgress, over, clients }),
    directed.then(() => new Promise(() => {})),
  ]);
  await directed;
  const elapsed = performance.now() - began;
  for (; connections.underWay > 0 && !over.aborted; await pause(TICK_MS));
  await environment.lastNight(epoch + span + 10 * MINUTE);
  const checks = await environment.withDatabase((client) => checkDatabase(client, expected, epoch + span));
  const version = await versionOf(environment.settings.DATABASE_URL);
  return { counters, checker, expected, fleet, phases, checks, elapsed, pace, span, epoch, version };
}

async function advance({ fleet, connections, pace, environment, epoch, span, onProgress, over, clients }) {
  const behind = Math.min(BEHIND, clients * PART_BEHIND);
  for (let last = performance.now(); pace.now < span && !over.aborted;) {
    await pause(TICK_MS);
    const now = performance.now();
    pace.advance(Math.min(now - last, LATE_MS), connections.underWay > behind);
    last = now;
    environment.tellTime(epoch + pace.now);
    fleet.act();
    onProgress(pace.now, span);
  }
}
