import { expect, test } from '@jest/globals';
import { createDatabase } from '../support/harness.js';
import { importFromBench } from '../support/import-from-bench.js';
import { temporaryFolder } from '../support/folders.js';

test('the servers that `npm run bench` compares with the service send the same responses as the service', async () => {
  const { Processes } = await importFromBench('load/processes.mjs');
  const { makeData, activationIds } = await importFromBench('load/data.mjs');
  const { startServers } = await importFromBench('comparison/start-servers.mjs');
  const directory = temporaryFolder();
  const database = await createDatabase();
  const processes = new Processes();
  try {
    const data = await makeData(database.url, directory, activationIds(20));
    // `startServers` throws if a response differs.
    const { servers } = await startServers(processes, data);
    expect(servers.map(({ name }: { name: string }) => name)).toEqual([
      'service',
      'plain',
      'idiomatic',
      'minimal',
      'constant',
    ]);
  } finally {
    await processes.end();
  }
});
