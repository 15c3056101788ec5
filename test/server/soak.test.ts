import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';

/*
 * Requests of every kind, what is refused, what is no HTTP and what breaks off included, leave nothing behind. bench/soak/soak.mjs
 * makes them for minutes; its load is this one.
 */

const SEATS = 20;
/** The number of requests of each kind in a round. */
const TIMES = 100;
/** Two rounds that kept little more than a kilobyte of each request would pass it; what the heap does by itself is a sixth. */
const GROWTH_AT_MOST = 3 * 2 ** 20;
/** Those to the database, what listens, and one that this test's own `fetch` keeps. */
const SOCKETS_AT_MOST = 24;

interface Memory {
  readonly heap: number;
  readonly sockets: number;
}
interface Load {
  readonly kinds: Readonly<Record<string, () => Promise<true | number>>>;
  end(): void;
}

const directory = mkdtempSync(join(tmpdir(), 'mooring-soak-'));
// A module of the benchmark, which is JavaScript.
const ofBench = (file: string) => import(new URL(`../../bench/load/${file}`, import.meta.url).href);
let database: Awaited<ReturnType<typeof createDatabase>>;
let server: ServerProcess;
let load: Load;
beforeAll(async () => {
  database = await createDatabase();
  const { makeData, seatIds } = await ofBench('data.mjs');
  const { kindsOf } = await ofBench('kinds.mjs');
  const { settings, ...data } = await makeData(database.url, directory, seatIds(SEATS));
  const port = await freePort();
  const environment = { ...settings, PORT: String(port), PUBLIC_URL: `http://localhost:${port}` };
  const nodeArguments = ['--expose-gc', '--import', './bench/load/heap.mjs'];
  server = new ServerProcess(environment, { nodeArguments, ipc: true });
  await server.says('stdout', /"listening"/);
  const { headers } = await fetch(`http://127.0.0.1:${port}/v1/manifest`);
  const webhookSecret = settings.PURCHASE_WEBHOOK_SECRET;
  load = kindsOf(port, { ...data, webhookSecret, etag: headers.get('etag') });
});
afterAll(async () => {
  await server?.end();
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
});

async function memory(): Promise<Memory> {
  server.child.send('heap');
  const [memory] = await once(server.child, 'message');
  return memory as Memory;
}

/** Makes requests of all kinds concurrently, so in any order. @returns the unexpected responses */
async function round(): Promise<string[]> {
  const wrong: string[] = [];
  for (let time = 0; time < TIMES; time += 10) {
    const asked = Object.entries(load.kinds).flatMap(([kind, ask]) =>
      Array.from({ length: 10 }, async () => {
        const right = await ask();
        if (right !== true) wrong.push(`${kind} ${right}`);
      }),
    );
    await Promise.all(asked);
  }
  return wrong;
}

test('thousands of requests of every kind, also invalid ones, leave no memory and no socket in use', async () => {
  // The first round allocates what is kept: connections to the database, compiled code.
  expect(await round()).toEqual([]);
  const before = await memory();
  expect(await round()).toEqual([]);
  expect(await round()).toEqual([]);
  const after = await memory();
  expect(after.heap - before.heap).toBeLessThan(GROWTH_AT_MOST);
  load.end();
  // The service notices the end of the connections a moment later.
  for (let { sockets } = after; sockets > SOCKETS_AT_MOST;) ({ sockets } = await memory());
});
