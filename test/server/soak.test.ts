import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { createDatabase } from '../support/harness.js';
import { importFromBench } from '../support/import-from-bench.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

// bench/soak/soak.mjs sends the same kinds of requests for minutes, except requests for sign-in codes.

const ACTIVATIONS = 20;
/** The number of requests of each kind in a round. */
const REQUESTS_PER_KIND = 100;
/** A leak of a little over a kilobyte for each request of two rounds exceeds this; without a leak the growth is a sixth. */
const MAX_HEAP_GROWTH_BYTES = 3 * 2 ** 20;
/** The connections to the database, the listening sockets, and one connection that `fetch` of this test keeps open. */
const MAX_SOCKETS = 24;

interface Memory {
  readonly heap: number;
  readonly sockets: number;
}
interface Load {
  readonly senders: Readonly<Record<string, () => Promise<number | null>>>;
  end(): void;
}

const directory = temporaryFolder();
const database = await createDatabase();
const { makeData, activationIds } = await importFromBench('load/data.mjs');
const { createSenders } = await importFromBench('load/senders.mjs');
const { settings, ...data } = await makeData(database.url, directory, activationIds(ACTIVATIONS));
const port = await freePort();
const environment = { ...settings, PORT: String(port), PUBLIC_URL: `http://localhost:${port}` };
const nodeArguments = ['--expose-gc', '--import', './bench/load/heap.mjs'];
const server = new ServerProcess(environment, { nodeArguments, hasIpc: true });
await server.waitForOutput('stdout', /"listening"/);
const { headers } = await fetch(`http://127.0.0.1:${port}/v1/manifest`);
const webhookSecret = settings.PURCHASE_WEBHOOK_SECRET;
const load: Load = createSenders(port, { ...data, webhookSecret, etag: headers.get('etag') });

async function readMemory(): Promise<Memory> {
  server.child.send('heap');
  const [memory] = await once(server.child, 'message');
  return memory as Memory;
}

/** Sends REQUESTS_PER_KIND requests of each kind, ten of each at once. @returns the unexpected responses */
async function sendRound(): Promise<string[]> {
  const wrong: string[] = [];
  for (let sent = 0; sent < REQUESTS_PER_KIND; sent += 10) {
    const requests = Object.entries(load.senders).flatMap(([kind, send]) =>
      Array.from({ length: 10 }, async () => {
        const result = await send();
        // This test sends more requests for codes than the limits allow.
        const isLimited = kind === 'code' && (result === 429 || result === 503);
        if (result !== null && !isLimited) wrong.push(`${kind} ${result}`);
      }),
    );
    await Promise.all(requests);
  }
  return wrong;
}

test('thousands of requests of every kind, including invalid and aborted ones, leak no memory and no socket', async () => {
  // The first round allocates memory that stays in use: connections to the database and compiled code.
  expect(await sendRound()).toEqual([]);
  const before = await readMemory();
  expect(await sendRound()).toEqual([]);
  expect(await sendRound()).toEqual([]);
  const after = await readMemory();
  expect(after.heap - before.heap).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
  load.end();
  // The service notices the end of the connections a moment later.
  for (let { sockets } = after; sockets > MAX_SOCKETS;) ({ sockets } = await readMemory());
});
