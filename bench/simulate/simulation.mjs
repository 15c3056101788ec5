import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../test/client/random.ts';
import { versionOf } from '../bench-run.mjs';
import { Lines } from '../load/lines.mjs';
import { checkDatabase } from './check-database.mjs';
import { Desk } from './desk.mjs';
import { Fleet } from './fleet.mjs';
import { Judge } from './judge.mjs';
import { Pace } from './pace.mjs';
import { direct, scenario } from './scenario.mjs';
import { Stage } from './stage.mjs';
import { Tally } from './tally.mjs';
import { Truth } from './truth.mjs';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How often the time is told and those act whose time has come. */
const TICK_MS = 20;
/** The most that a late tick makes up for: what the machine did meanwhile must not become a herd. */
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
export async function simulate({ folder, processes, told, interrupted }, options) {
  const over = new AbortController();
  const stage = new Stage(`${folder}/data`, processes);
  try {
    const whole = playAll(stage, options, { folder, processes, told, over: over.signal });
    return await Promise.race([whole, interrupted]);
  } finally {
    over.abort();
    await stage.end();
  }
}

async function playAll(stage, { clients, days, seed, minutes, plant }, { folder, processes, told, over }) {
  const random = new Random(seed);
  const truth = new Truth(clients, random);
  const span = days * DAY;
  const pace = new Pace(span / (minutes * MINUTE));
  const tally = new Tally(span);
  const epoch = nextThursday();
  const judge = new Judge(truth, { tally, pace, epoch });
  const licenses = await stage.fill(truth.seats, folder);
  await stage.startService(epoch);
  const lines = new Lines(stage.port, MOST_CONNECTIONS);
  over.addEventListener('abort', () => lines.end());
  const fleet = new Fleet(truth, { judge, lines, pace, random, licenses, days });
  const desk = new Desk(truth, { judge, lines, random, licenses, over });
  const scene = { stage, fleet, desk, truth, pace, epoch, processes, folder, plant, days };
  const phases = [];
  const directed = direct(scenario(scene), pace, span, phases);
  const began = performance.now();
  // A scene that fails ends the play.
  await Promise.race([
    play({ fleet, lines, pace, stage, epoch, span, told, over, clients }),
    directed.then(() => new Promise(() => {})),
  ]);
  await directed;
  const elapsed = performance.now() - began;
  for (; lines.underWay > 0 && !over.aborted; await pause(TICK_MS));
  await stage.lastNight(epoch + span + 10 * MINUTE);
  const checks = await stage.withDatabase((client) => checkDatabase(client, truth, epoch + span));
  const version = await versionOf(stage.settings.DATABASE_URL);
  return { tally, judge, truth, fleet, phases, checks, elapsed, pace, span, epoch, version };
}

async function play({ fleet, lines, pace, stage, epoch, span, told, over, clients }) {
  const behind = Math.min(BEHIND, clients * PART_BEHIND);
  for (let last = performance.now(); pace.now < span && !over.aborted;) {
    await pause(TICK_MS);
    const now = performance.now();
    pace.advance(Math.min(now - last, LATE_MS), lines.underWay > behind);
    last = now;
    stage.tellTime(epoch + pace.now);
    fleet.act();
    told(pace.now, span);
  }
}
