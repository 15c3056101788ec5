import { performance } from 'node:perf_hooks';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const OUTAGE = 2 * HOUR;
const RECONNECTION_MS = HOUR;
/** When, as a share of all days, to the whole hour. */
const AT = { killed: 0.31, update: 0.46, outage: 0.57, refunds: 0.76, releases: 0.85 };

/** Has what is to happen happen in its order: time never passes a step before the one before it is done. */
export async function direct(steps, pace, span, phases) {
  for (const [number, { at, act, name, isStill, lasts = 0 }] of steps.entries()) {
    await pace.reach(at);
    if (!isStill) pace.allow(steps[number + 1]?.at ?? span);
    const phase = { name, from: at, to: at + lasts };
    if (name) phases.push(phase);
    phase.count = await act();
    phase.to = Math.max(pace.now, phase.to);
  }
  pace.allow(span);
}

/** What happens, and when. A start takes its time by the machine's clock, and simulated time stops for it. */
export function scenario(scene) {
  const { environment, vendor, expected, plant, days } = scene;
  const hour = (share) => Math.round(share * days * 24) * HOUR;
  return [
    ...serviceOutage(hour(AT.killed), scene),
    {
      name: 'update',
      at: hour(AT.update),
      lasts: DAY,
      async act() {
        if (plant) await environment.withDatabase((client) => plantFault(client, expected));
        await vendor.publish(scene);
      },
    },
    ...databaseOutage(hour(AT.outage), scene),
    {
      name: 'refunds',
      at: hour(AT.refunds),
      act: () => vendor.refund(environment.settings.PURCHASE_WEBHOOK_SECRET),
    },
    { name: 'releases', at: hour(AT.releases), act: () => vendor.release() },
  ];
}

/** The service is killed under load, and the power goes where a part of the machines are: those come back together. */
function serviceOutage(at, { environment, fleet, expected, pace, epoch }) {
  return [
    {
      name: 'service killed',
      at,
      lasts: OUTAGE,
      isStill: true,
      async act() {
        expected.back.service = Infinity;
        fleet.cutPower();
        await environment.killService();
      },
    },
    ...reconnection(at + OUTAGE, pace, async () => {
      await environment.startService(epoch + pace.now);
      expected.back.service = performance.now();
      return fleet.restorePower();
    }),
  ];
}

function databaseOutage(at, { environment, expected, pace }) {
  return [
    {
      name: 'database killed',
      at,
      lasts: OUTAGE,
      async act() {
        expected.back.database = Infinity;
        await environment.killDatabase();
      },
    },
    ...reconnection(at + OUTAGE, pace, async () => {
      await environment.startDatabase();
      expected.back.database = performance.now();
    }),
  ];
}

/** For an hour after an outage clients come whether the service keeps up or not. */
function reconnection(at, pace, comeBack) {
  return [
    {
      name: 'reconnection',
      at,
      lasts: RECONNECTION_MS,
      isStill: true,
      async act() {
        const count = await comeBack();
        pace.isOpen = true;
        return count;
      },
    },
    { at: at + RECONNECTION_MS, act: async () => void (pace.isOpen = false) },
  ];
}

/** Proves that the checks find a fault: an acknowledged activation is lost. */
async function plantFault(client, { id }) {
  await client.query('delete from activation where id = $1', [id.find((each) => each !== null)]);
}
