import { performance } from 'node:perf_hooks';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const OUTAGE_MS = 2 * HOUR_MS;
const RECONNECTION_MS = HOUR_MS;
/** When each event happens, as a share of the simulated time; it is rounded to the hour. */
const EVENT_TIMES = {
  serviceKilled: 0.31,
  update: 0.46,
  databaseKilled: 0.57,
  refunds: 0.76,
  releases: 0.85,
};

/**
 * Runs the steps in order. While a step runs, simulated time continues up to the time of the next step, or stops if the step
 * has `stopsTime`. Each step with a name adds a phase to `phases`.
 */
export async function runSteps(steps, pace, span, phases) {
  for (const [number, { at, act, name, stopsTime, durationMs = 0 }] of steps.entries()) {
    await pace.waitUntil(at);
    if (!stopsTime) pace.setLimit(steps[number + 1]?.at ?? span);
    const phase = { name, from: at, to: at + durationMs };
    if (name) phases.push(phase);
    phase.count = await act();
    phase.to = Math.max(pace.now, phase.to);
  }
  pace.setLimit(span);
}

/** Returns the events of the simulation, with their times. Simulated time stops while a process starts. */
export function scenarioSteps(context) {
  const { environment, vendor, days } = context;
  const hour = (share) => Math.round(share * days * 24) * HOUR_MS;
  return [
    ...serviceOutage(hour(EVENT_TIMES.serviceKilled), context),
    {
      name: 'update',
      at: hour(EVENT_TIMES.update),
      durationMs: DAY_MS,
      act: async () => void (await vendor.publish(context)),
    },
    ...databaseOutage(hour(EVENT_TIMES.databaseKilled), context),
    {
      name: 'refunds',
      at: hour(EVENT_TIMES.refunds),
      act: () => vendor.refund(environment.settings.PURCHASE_WEBHOOK_SECRET),
    },
    { name: 'releases', at: hour(EVENT_TIMES.releases), act: () => vendor.release() },
  ];
}

/** The service is killed under load, and a part of the machines lose power at the same time and start together later. */
function serviceOutage(at, { environment, fleet, expected, pace, epoch }) {
  return [
    {
      name: 'service killed',
      at,
      durationMs: OUTAGE_MS,
      stopsTime: true,
      async act() {
        expected.availableSince.service = Infinity;
        fleet.cutPower();
        await environment.killService();
      },
    },
    ...reconnection(at + OUTAGE_MS, pace, async () => {
      await environment.startService(epoch + pace.now);
      expected.availableSince.service = performance.now();
      return fleet.restorePower();
    }),
  ];
}

function databaseOutage(at, { environment, expected, pace }) {
  return [
    {
      name: 'database killed',
      at,
      durationMs: OUTAGE_MS,
      async act() {
        expected.availableSince.database = Infinity;
        await environment.killDatabase();
      },
    },
    ...reconnection(at + OUTAGE_MS, pace, async () => {
      await environment.startDatabase();
      expected.availableSince.database = performance.now();
    }),
  ];
}

/** Ends an outage. For an hour after it, clients send requests even if the service cannot answer as fast. */
function reconnection(at, pace, restore) {
  return [
    {
      name: 'reconnection',
      at,
      durationMs: RECONNECTION_MS,
      stopsTime: true,
      async act() {
        const count = await restore();
        pace.isOpenLoop = true;
        return count;
      },
    },
    { at: at + RECONNECTION_MS, act: async () => void (pace.isOpenLoop = false) },
  ];
}
