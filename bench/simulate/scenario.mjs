import { performance } from 'node:perf_hooks';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const OUTAGE = 2 * HOUR;
const HERD = HOUR;
/** When, as a share of all days, to the whole hour. */
const AT = { killed: 0.31, update: 0.46, away: 0.57, refunds: 0.76, releases: 0.85 };

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

/** What happens, and when. A start takes its time by the machine's clock, and simulated time stands still for it. */
export function scenario(scene) {
  const { stage, desk, truth, plant, days } = scene;
  const hour = (share) => Math.round(share * days * 24) * HOUR;
  return [
    ...serviceOutage(hour(AT.killed), scene),
    {
      name: 'update',
      at: hour(AT.update),
      lasts: DAY,
      async act() {
        if (plant) await stage.withDatabase((client) => plantFault(client, truth));
        await desk.publish(scene);
      },
    },
    ...databaseOutage(hour(AT.away), scene),
    { name: 'refunds', at: hour(AT.refunds), act: () => desk.refund(stage.settings.PURCHASE_WEBHOOK_SECRET) },
    { name: 'releases', at: hour(AT.releases), act: () => desk.release() },
  ];
}

/** The service is killed under load, and the power goes where a part of the machines are: those come back together. */
function serviceOutage(at, { stage, fleet, truth, pace, epoch }) {
  return [
    {
      name: 'service killed',
      at,
      lasts: OUTAGE,
      isStill: true,
      async act() {
        truth.back.service = Infinity;
        fleet.cutPower();
        await stage.killService();
      },
    },
    ...herd(at + OUTAGE, pace, async () => {
      await stage.startService(epoch + pace.now);
      truth.back.service = performance.now();
      return fleet.restorePower();
    }),
  ];
}

function databaseOutage(at, { stage, truth, pace }) {
  return [
    {
      name: 'database killed',
      at,
      lasts: OUTAGE,
      async act() {
        truth.back.database = Infinity;
        await stage.killDatabase();
      },
    },
    ...herd(at + OUTAGE, pace, async () => {
      await stage.startDatabase();
      truth.back.database = performance.now();
    }),
  ];
}

/** For an hour after an outage clients come whether the service keeps up or not. */
function herd(at, pace, comeBack) {
  return [
    {
      name: 'herd',
      at,
      lasts: HERD,
      isStill: true,
      async act() {
        const count = await comeBack();
        pace.isOpen = true;
        return count;
      },
    },
    { at: at + HERD, act: async () => void (pace.isOpen = false) },
  ];
}

/** For whoever doubts that this finds anything: an acknowledged activation is lost. */
async function plantFault(client, { id }) {
  await client.query('delete from activation where id = $1', [id.find((each) => each !== null)]);
}
