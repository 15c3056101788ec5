import type pg from 'pg';
import { ALONE, type PlantedBug } from './planted-bug.js';
import { READ_ACTIVATIONS } from './statements.js';

const HEARTBEATS = { heartbeat: 20, activate: 10, release: 6 };

/** Bugs in the answers about a license. */
export const HEARTBEAT_BUGS: readonly PlantedBug[] = [
  {
    name: 'a refusal is believed of a replica that is behind',
    seed: 1,
    shape: { ...ALONE, kinds: HEARTBEATS },
    plant: async (planting) => {
      const replica = await planting.snapshot();
      planting.on(READ_ACTIVATIONS, async ({ text, values }) => replica.query(text, [...values]));
    },
  },
  {
    name: 'a heartbeat is answered from a cache that is never emptied',
    seed: 1,
    shape: { ...ALONE, kinds: HEARTBEATS },
    plant: (planting) => {
      const cache = new Map<string, pg.QueryResult>();
      planting.on(READ_ACTIVATIONS, async ({ values, run }) => {
        const key = JSON.stringify(values);
        const result = cache.get(key) ?? (await run());
        cache.set(key, result);
        return result;
      });
    },
  },
  {
    name: 'a heartbeat ignores that staff suspended the license',
    seed: 1,
    shape: { ...ALONE, kinds: { ...HEARTBEATS, status: 6 } },
    plant: (planting) =>
      planting.replace(READ_ACTIVATIONS, /\bl\.staff_status\b/, `'active' as staff_status`),
  },
  {
    name: 'a heartbeat ignores that the machine was released',
    seed: 3,
    shape: { ...ALONE, kinds: HEARTBEATS },
    plant: (planting) =>
      planting.replace(READ_ACTIVATIONS, /\ba\.ended_at\b/, 'null::timestamptz as ended_at'),
  },
];
