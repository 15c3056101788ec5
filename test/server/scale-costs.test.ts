import { expect, test } from '@jest/globals';
import { importFromBench } from '../support/import-from-bench.js';

const load = (hasReplica: boolean, perSecond: number, us: number, isCapacity = false) => ({
  hasReplica,
  isCapacity,
  perSecond,
  serviceUs: us,
  primaryUs: us,
  replicaUs: hasReplica ? us : 0,
  replayUs: hasReplica ? us : 0,
  wal: 200,
  connections: 10,
  replicaConnections: hasReplica ? 2 : 0,
});
const costs = (ms: number) => ({ ms, processorMs: ms / 2, wal: ms * 400, temporary: ms * 100 });
/** Four nights of a thousand rows, the last of which also rolls up a week. A vacuum costs a tenth of a move. */
const nights = [1_000, 1_000, 1_000, 8_000].map((ms, index) => ({
  stored: index * 1_000,
  moved: 1_000,
  weeks: index === 3 ? 1 : 0,
  run: costs(ms),
  vacuum: costs(100),
}));
const MEASUREMENTS = {
  monthsKept: 24,
  heartbeats: {
    loads: [false, true].flatMap((hasReplica) => [
      load(hasReplica, 46, 1_000),
      load(hasReplica, 500, 200),
      load(hasReplica, 3_000, 100, true),
    ]),
    inboxBytes: 250,
  },
  days: { nights, months: [{ rows: 4_000, table_bytes: 600_000, index_bytes: 40_000 }] },
};

test('the costs and the limits of a fleet are computed from the measurements', async () => {
  const { computeCosts } = await importFromBench('scale/costs.mjs');
  const { nights: rowCosts, million, target, limits } = computeCosts(MEASUREMENTS);
  expect(rowCosts.move).toEqual({ us: 1_000, processorUs: 500, wal: 400, temporary: 100 });
  expect(rowCosts.rollUp).toEqual({ us: 1_000, processorUs: 500, wal: 400, temporary: 100 });
  expect(rowCosts.vacuum).toEqual({ us: 100, processorUs: 50, wal: 40, temporary: 10 });
  expect(rowCosts).toMatchObject({ diskBytes: 160, growth: { time: 1, processor: 1, stored: 2_000 } });
  const coresOf = ({ serviceCores }: { serviceCores: number }) => serviceCores.toFixed(4);
  expect(million.slice(0, 3).map(coresOf)).toEqual(['0.0463', '0.0093', '0.0046']);
  expect(million[0]).toMatchObject({ rowsADay: 4_000_000, diskADay: 640_000_000, moveSeconds: 4_000 });
  // A heartbeat writes 200 bytes of WAL, and the move, the roll-up and the vacuum of its row write 840 bytes.
  expect(million[0].walADay).toBe(4_000_000 * 1_040);
  // 4,630 heartbeats a second need 0.93 cores at 200 µs each, and 0.46 at 100 µs. An instance uses at most 0.6 of a core.
  const instancesOf = ({ instances }: { instances: (peak: number) => number }) => [
    instances(1),
    instances(3),
  ];
  expect(target.map(instancesOf)).toEqual([
    [2, 5],
    [1, 3],
    [2, 5],
    [1, 3],
  ]);
  expect(limits[0]).toMatchObject({ name: 'move of a day and roll-up of a week', clients: 3_600_000 / 32 });
});
