import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../test/client/random.ts';
import { node24, root, ScriptError } from '../../scripts/prepare.mjs';
import { createDatabase, query } from '../load/database.mjs';
import { endProcess } from '../load/processes.mjs';
import { makeExport } from './exports.mjs';

export const SYSTEMS = ['lemonsqueezy', 'gumroad', 'paddle', 'keygen'];
/** How many sign-ins are in progress at once. */
const CONCURRENCY = 8;
/** How many times an import is killed, at most; the run after the last kill ends by itself. */
const KILLS = 6;
/**
 * The longest time until a run is killed. The first run and every fourth one after it are killed within `start` of their start, the
 * others within `batch` after they have stored a further batch.
 */
const KILL_WITHIN_MS = { batch: 400, start: 3_000 };
/** The interval at which a run is watched for its first batch. */
const WATCH_INTERVAL_MS = 20;

/** Imports an export in one run. @returns the size of the file, the time, the peak of the memory, and the report of the command */
export async function importOnce(context, system, size) {
  const database = await newDatabase(context, `once_${system}`);
  const { file, licenses } = writeExport(context, system, size, 'once');
  const result = await completeImport(database, system, file);
  context.progress(`${system}: ${licenses.length} rows in ${Math.round(result.ms)} ms`);
  await check(database, licenses);
  return { rows: licenses.length, bytes: statSync(file).size, ...result };
}

async function completeImport(database, system, file) {
  const result = await (await startImport(database, system, file)).ended;
  if (result.code !== 0)
    throw new ScriptError(`the import of ${system} ended with ${result.code}: ${result.stderr}`);
  return result;
}

/** Imports an export while the command is killed at random moments and started again. */
export async function importKilled(context, system, size) {
  const database = await newDatabase(context, `killed_${system}`);
  const { file, licenses } = writeExport(context, system, size, 'killed');
  const random = new Random(size.seed);
  const stored = [];
  while (stored.length < KILLS) {
    const run = await startImport(database, system, file);
    const isEarly = stored.length % 4 === 0;
    if (!isEarly) await untilMoreThan(stored.at(-1) ?? 0, database, run.child);
    await pause(random.below(isEarly ? KILL_WITHIN_MS.start : KILL_WITHIN_MS.batch));
    run.child.kill('SIGKILL');
    const { code, stderr } = await run.ended;
    if (code === 0) break;
    if (code !== null) throw new ScriptError(`the import of ${system} ended with ${code}: ${stderr}`);
    stored.push(await countLicenses(database));
  }
  await completeImport(database, system, file);
  const { report } = await completeImport(database, system, file);
  if (report.imported !== 0 || report.already_imported !== licenses.length)
    throw new ScriptError(`another run imported ${report.imported} licenses again`);
  context.progress(`${system}: killed ${stored.length} times, with ${stored.join(', ')} licenses stored`);
  await check(database, licenses);
  return { system, database, licenses, stored };
}

/** Signs in the holder of each license by the previous key and the address, and tries every tenth key with an unknown address. */
export async function signInAll({ processes, progress }, { system, database, licenses }) {
  const service = await processes.startService({ ...database.settings, LOG_LEVEL: 'warn' });
  const url = `http://localhost:${service.port}`;
  const signIn = async (email, license_key) => {
    const response = await fetch(`${url}/portal/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url, 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ email, license_key }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  let [next, signedIn, refused] = [0, 0, 0];
  const work = async () => {
    for (let i = next++; i < licenses.length; i = next++) {
      const { key, email } = licenses[i];
      if ((await signIn(email.toUpperCase(), ` ${key.toLowerCase()} `)) === 204) signedIn += 1;
      if (i % 10 === 0 && (await signIn('another@example.com', key)) === 404) refused += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  if (signedIn !== licenses.length)
    throw new ScriptError(`${signedIn} of ${licenses.length} holders signed in`);
  const wrong = Math.ceil(licenses.length / 10);
  if (refused !== wrong) throw new ScriptError(`${refused} of ${wrong} wrong addresses were refused`);
  progress(`${system}: ${signedIn} holders signed in; ${refused} wrong addresses were refused`);
  await endProcess(service.child);
  return { signedIn, refused };
}

/** Waits until a running import has stored another batch, or has ended. */
async function untilMoreThan(licenses, database, child) {
  while (child.exitCode === null && (await countLicenses(database)) <= licenses)
    await pause(WATCH_INTERVAL_MS);
}

/** Creates a migrated database, and the settings of a command and a service that use it. */
async function newDatabase({ url: server, folder }, name) {
  const { migrate } = await import('../../dist/database/migrations.js');
  const url = await createDatabase(server, name);
  await migrate(url);
  const settings = {
    NODE_ENV: 'development',
    DATABASE_URL: url,
    DATA_DIR: join(folder, name),
    LICENSE_KEY_SECRET: randomBytes(32).toString('base64'),
  };
  return { url, settings };
}

function writeExport({ folder }, system, size, name) {
  const { text, extension, licenses } = makeExport(system, size);
  const file = join(folder, `${system}-${name}.${extension}`);
  writeFileSync(file, text);
  return { file, licenses };
}

/** Starts the command. @returns the process, and a promise of its exit code, its time, its report and the peak of its memory */
async function startImport({ settings }, system, file) {
  const started = performance.now();
  const args = ['--import', new URL('peak-memory.mjs', import.meta.url).href, join(root, 'dist/cli.js')];
  const child = spawn(node24(), [...args, 'license', 'import', file, '--from', system, '--json'], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr, [code]]) => ({
      code,
      stderr,
      ms: performance.now() - started,
      report: code === 0 ? JSON.parse(stdout) : undefined,
      peakMemory: Number(/peak memory (\d+) KiB/.exec(stderr)?.[1] ?? 0) * 1024,
    }),
  );
  return { child, ended };
}

const countLicenses = async ({ url }) =>
  (await query(url, 'select count(*)::int as licenses from license'))[0].licenses;

/** Checks that the database has each license once, with its status and its purchase, and each active one with its mail. */
async function check({ url }, licenses) {
  // PostgreSQL may still be ending the last transaction of a killed command.
  await pause(100);
  const rows = await query(
    url,
    `select l.email, p.transaction_id, case when p.state = 'refunded' then 'refunded' else l.staff_status end as status,
       l.new_key_mailed_at is not null as mailed,
       (select count(*)::int from graphile_worker.jobs where key = 'license_key_imported ' || l.id) as jobs
     from license l left join purchase p on p.id = l.purchase_id`,
  );
  const name = (license) =>
    [license.email, license.transaction, license.becomes, license.becomes === 'active'].join(' ');
  const expected = licenses.map(name).toSorted();
  const found = rows
    .map(({ email, transaction_id, status, mailed, jobs }) =>
      [email, transaction_id, status, mailed && jobs === 1].join(' '),
    )
    .toSorted();
  const different = expected.findIndex((line, i) => line !== found[i]);
  if (expected.length !== found.length || different >= 0)
    throw new ScriptError(
      `${found.length} licenses in place of ${expected.length}; the first difference: ${expected[different]} | ${found[different]}`,
    );
}
