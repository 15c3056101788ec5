import { performance } from 'node:perf_hooks';
import { query, withClient } from '../load/database.mjs';
import { median } from '../measure.mjs';

/** The ids of a statement: about as many as the service puts into one under the load of this bench. */
export const IDS_PER_STATEMENT = 20;

/** Selects the activations of a measurement. */
const SELECTED_IDS = {
  // Those of the load: a random sample, from the oldest to the newest.
  spread: ({ data }) => data.activations.map(({ sub }) => sub),
  // As many that are stored beside each other, in a random order.
  neighbouring: async ({ url, data }) => {
    const sql = 'select id from (select id from activation limit $1) stored order by random()';
    const rows = await query(url, sql, [data.activations.length]);
    return rows.map(({ id }) => id);
  },
};

/**
 * Measures the statement of a heartbeat alone, without the service: over one connection to each database, in rounds that alternate
 * between the databases, with the activations of the load and with as many that are stored beside each other.
 * @returns the microseconds of an activation in the smallest and in the largest database, and the median of their ratios, for both
 */
export async function measureStatement(databases, { rounds, seconds }) {
  const { READ_ACTIVATIONS } = await import('../../dist/heartbeat/activation-reads.js');
  const compared = [databases[0], databases.at(-1)];
  const result = {};
  for (const [name, selectIds] of Object.entries(SELECTED_IDS)) {
    const samples = await Promise.all(compared.map(selectIds));
    const times = [[], []];
    // The first round warms up and is not counted.
    for (let round = 0; round <= rounds; round += 1)
      for (const [index, { url }] of compared.entries())
        times[index].push(await timePerId(url, READ_ACTIVATIONS, samples[index], seconds));
    const counted = times.map((each) => each.slice(1));
    result[name] = {
      us: counted.map((each) => median(each)),
      ratio: median(counted[1].map((us, round) => us / counted[0][round])),
    };
  }
  return result;
}

async function timePerId(url, text, ids, seconds) {
  return withClient(url, async (client) => {
    const began = performance.now();
    let count = 0;
    for (let at = 0; performance.now() - began < seconds * 1000; at = (at + IDS_PER_STATEMENT) % ids.length) {
      const part = ids.slice(at, at + IDS_PER_STATEMENT);
      await client.query({ name: 'read', text, values: [part] });
      count += part.length;
    }
    return ((performance.now() - began) / count) * 1000;
  });
}
