import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScriptError } from '../scripts/prepare.mjs';
import { runBench } from './command.mjs';
import { query } from './load/database.mjs';

/**
 * Runs a bench whose result is a Markdown page. The bench has its own PostgreSQL in a temporary folder, which is removed at
 * the end and on an interrupt. The page is printed, and stored with `--write`.
 * @param {string} url of the calling module
 * @param {object} bench
 * @param {string} bench.page file name of the page, beside the calling module
 * @param bench.databaseSettings settings of PostgreSQL that differ from those of the embedded server
 * @param bench.parseOptions reads the command line; `write` in its result says whether the page is stored
 * @param bench.measureAll receives the options and `{ url, folder, processes, progress }`: the URL of the PostgreSQL server,
 *   the temporary folder, a `Processes` that starts child processes, and a function that prints a line of progress
 * @param bench.report makes the text of the page from the result of `measureAll` and the options
 */
export const runPageBench = (url, { page, databaseSettings, parseOptions, measureAll, report }) =>
  runBench(url, parseOptions, (options) =>
    withTemporaryFolder('mooring-bench-', async ({ folder, processes, interrupted }) => {
      let server;
      try {
        server = await startDatabase(join(folder, 'data'), databaseSettings);
        const environment = { url: server.url, folder, processes, progress: progressSince(Date.now()) };
        const measurements = await Promise.race([measureAll(environment, options), interrupted]);
        const text = await formatMarkdown(report(measurements, options));
        const file = new URL(page, url);
        if (options.write) writeFileSync(file, text + readHandwrittenPart(file));
        process.stdout.write(text);
        return 0;
      } finally {
        await processes.end();
        await server?.stop();
      }
    }),
  );

/** Starts the embedded server; with settings a second time, because some apply only to a server that starts. */
async function startDatabase(directory, settings) {
  const { startEmbeddedPostgres } = await import('../dist/database/embedded/embedded-postgres.js');
  const server = await startEmbeddedPostgres(directory);
  if (!settings) return server;
  for (const [name, value] of Object.entries(settings))
    await query(server.url, `alter system set ${name} = '${value}'`);
  await server.stop();
  return startEmbeddedPostgres(directory);
}

/**
 * Calls `work` with a temporary folder, which is removed when `work` ends.
 * @param {string} prefix of the folder's name
 * @param work receives `{ folder, processes, interrupted }`; the promise `interrupted` rejects on an interrupt
 */
export async function withTemporaryFolder(prefix, work) {
  let interrupt;
  const interrupted = new Promise((_, reject) => (interrupt = () => reject(new ScriptError('Interrupted.'))));
  interrupted.catch(() => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  const { Processes } = await import('./load/processes.mjs');
  const folder = mkdtempSync(join(tmpdir(), prefix));
  try {
    return await work({ folder, processes: new Processes(), interrupted });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Formats Markdown as `npm run check` requires it. */
export async function formatMarkdown(text) {
  const { format } = await import('prettier');
  return format(text, { parser: 'markdown' });
}

const progressSince = (startedAt) => (text) =>
  console.error(`${String(Math.round((Date.now() - startedAt) / 1000)).padStart(5)} s  ${text}`);

/** Reads the section of a page that is written by hand, which a new run must keep. */
export function readHandwrittenPart(page) {
  const text = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const start = text.search(/\n## Where the (?:time|memory) goes\n/);
  return start < 0 ? '' : text.slice(start);
}

/** Reads the version of PostgreSQL, as the server names it. */
export async function postgresVersion(url) {
  const [{ version }] = await query(url, `select split_part(version(), ' on ', 1) as version`);
  return version;
}
