import { expect, test } from '@jest/globals';
import { RetentionService } from '../../src/retention/retention.service.js';
import { Service } from '../support/harness.js';

const service = await Service.start();
const { token } = await service.issueActivated();

const sendHeartbeats = async (times: number) => {
  for (let n = 0; n < times; n += 1) await service.heartbeat(token, { telemetry: { arch: 'arm64' } });
};

/** Returns the ids that occur in the file of either inbox table, also in deleted rows. */
async function findIdsInFiles(ids: readonly string[]): Promise<string[]> {
  await service.sql('checkpoint');
  const files = await service.sql<{ bytes: Buffer }>(
    `select pg_read_binary_file(pg_relation_filepath(name::regclass)) as bytes
     from unnest(array['telemetry_inbox', 'telemetry_inbox_draining']) name`,
  );
  return ids.filter((id) =>
    files.some(({ bytes }) => bytes.includes(Buffer.from(id.replaceAll('-', ''), 'hex'))),
  );
}

// The first run empties one of the two inbox tables, and the second run the other.
test.each(['2026-11-21', '2026-11-22'])(
  'after the run of %s the moved rows are neither in the files of the inboxes nor in the statistics of the planner',
  async (day) => {
    await sendHeartbeats(60);
    await service.sql('analyze telemetry_inbox');
    const rowsToMove = await service.sql<{ id: string }>('select id from telemetry_inbox');
    service.clock.set(`${day}T00:01:00Z`);
    await sendHeartbeats(20);
    const ids = rowsToMove.map(({ id }) => id);
    expect(await findIdsInFiles(ids)).toEqual(ids);
    await service.app.get(RetentionService).run(new Date(`${day}T00:05:00Z`));
    expect(await findIdsInFiles(ids)).toEqual([]);
    // Rows that came since midnight are stored in random order and by one transaction.
    const left = await service.sql<{ id: string; by: string }>(
      'select id, xmin::text as by from telemetry_inbox order by ctid',
    );
    expect(left.map(({ id }) => id)).toEqual(left.map(({ id }) => id).toSorted());
    expect([left.length, new Set(left.map(({ by }) => by)).size]).toEqual([20, 1]);
    const statistics = "select attname from pg_stats where tablename ~ '^telemetry_inbox(_draining)?$'";
    expect(await service.sql(statistics)).toEqual([]);
  },
);
