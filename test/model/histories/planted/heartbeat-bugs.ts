import type pg from 'pg';
import { ONE_CLIENT, type PlantedBug } from './planted-bug.js';
import { READ_ACTIVATIONS } from './statements.js';

const HEARTBEATS = { heartbeat: 20, activate: 10, release: 6 };

export const HEARTBEAT_BUGS: readonly PlantedBug[] = [
  {
    name: 'a heartbeat is refused because of old data of a replica',
    seed: 1,
    shape: { ...ONE_CLIENT, kinds: HEARTBEATS },
    plant: async (planting) => {
      const replica = await planting.openSnapshot();
      planting.intercept(READ_ACTIVATIONS, async ({ text, values }) => replica.query(text, [...values]));
    },
  },
  {
    name: 'a heartbeat is answered from a cache that is never invalidated',
    seed: 1,
    shape: { ...ONE_CLIENT, kinds: HEARTBEATS },
    plant: (planting) => {
      const cache = new Map<string, pg.QueryResult>();
      planting.intercept(READ_ACTIVATIONS, async ({ values, run }) => {
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
    shape: { ...ONE_CLIENT, kinds: { ...HEARTBEATS, status: 6 } },
    plant: (planting) =>
      planting.replace(READ_ACTIVATIONS, /\bl\.staff_status\b/, `'active' as staff_status`),
  },
  {
    name: 'a heartbeat ignores that the machine was released',
    seed: 3,
    shape: { ...ONE_CLIENT, kinds: HEARTBEATS },
    plant: (planting) =>
      planting.replace(READ_ACTIVATIONS, /\ba\.ended_at\b/, 'null::timestamptz as ended_at'),
  },
];
