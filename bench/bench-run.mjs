import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Fault } from '../scripts/prepare.mjs';

/**
 * Measures on a PostgreSQL of the bench's own, and prints the page that comes of it; interrupted or not, nothing is left
 * behind.
 * @param measureAll gets where the server is, a folder, the processes to start others by, and whom to tell of progress
 * @param report makes the page's text of what was measured
 * @param page where the text goes with `write`
 */
export async function benchRun(measureAll, { report, page, write }) {
  let interrupt;
  const interrupted = new Promise((_, reject) => (interrupt = () => reject(new Fault('Interrupted.'))));
  interrupted.catch(() => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  const { startEmbeddedPostgres } = await import('../dist/database/embedded-postgres.js');
  const { Processes } = await import('./load/processes.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'mooring-bench-'));
  const processes = new Processes();
  let server;
  try {
    server = await startEmbeddedPostgres(join(folder, 'data'));
    const stage = { url: server.url, folder, processes, progress: progressSince(Date.now()) };
    const figures = await Promise.race([measureAll(stage), interrupted]);
    const { format } = await import('prettier');
    const text = await format(report(figures), { parser: 'markdown' });
    if (write) writeFileSync(page, text + written(page));
    process.stdout.write(text);
    return 0;
  } finally {
    await processes.end();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const progressSince = (began) => (what) =>
  console.error(`${String(Math.round((Date.now() - began) / 1000)).padStart(5)} s  ${what}`);

/** What a person wrote below the figures stays. */
function written(page) {
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
