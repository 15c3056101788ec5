import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../../scripts/prepare.mjs';

/**
 * Measures on a PostgreSQL of the bench's own, and prints the page that comes of it; interrupted or not, nothing is left
 * behind.
 * @param measureAll gets where the server is, a folder, the processes to start others by, and whom to tell of progress
 * @param report makes the page's text of what was measured
 * @param page where the text goes with `write`
 */
export function benchRun(measureAll, { report, page, write }) {
  return inFolder('mooring-bench-', async ({ folder, processes, interrupted }) => {
    const { startEmbeddedPostgres } = await import('../../dist/database/embedded/embedded-postgres.js');
    let server;
    try {
      server = await startEmbeddedPostgres(join(folder, 'data'));
      const stage = { url: server.url, folder, processes, progress: progressSince(Date.now()) };
      const measurements = await Promise.race([measureAll(stage), interrupted]);
      const text = await asPage(report(measurements));
      if (write) writeFileSync(page, text + written(page));
      process.stdout.write(text);
      return 0;
    } finally {
      await processes.end();
      await server?.stop();
    }
  });
}

/**
 * Works in a folder that is there as long as the work is.
 * @param work gets the folder, the processes to start others by, and a promise that fails on an interrupt
 */
export async function inFolder(prefix, work) {
  let interrupt;
  const interrupted = new Promise((_, reject) => (interrupt = () => reject(new Fault('Interrupted.'))));
  interrupted.catch(() => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  const { Processes } = await import('../load/processes.mjs');
  const folder = mkdtempSync(join(tmpdir(), prefix));
  try {
    return await work({ folder, processes: new Processes(), interrupted });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Markdown as `npm run check` wants it. */
export async function asPage(text) {
  const { format } = await import('prettier');
  return format(text, { parser: 'markdown' });
}

const progressSince = (began) => (what) =>
  console.error(`${String(Math.round((Date.now() - began) / 1000)).padStart(5)} s  ${what}`);

/** What a person wrote below the measurements stays. */
export function written(page) {
  const text = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const start = text.indexOf('\n## Where the time goes');
  return start < 0 ? '' : text.slice(start);
}

/** PostgreSQL's own words of its version. */
export async function versionOf(url) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(`select split_part(version(), ' on ', 1) as version`);
  await client.end();
  return rows[0].version;
}
