import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ACTIVATION_ID_PREFIX } from './data.mjs';

/**
 * Measures how fast the database alone runs the statements of a heartbeat, over as many connections as the service has.
 * @returns transactions a second of each statement; null if pgbench is not installed
 */
export async function measureDatabase(url, folder, { activations, seconds }) {
  if (spawnSync('pgbench', ['--version']).status !== 0) return null;
  const { READ_ACTIVATIONS } = await import('../../dist/heartbeat/activation-reads.js');
  const activation = `('${ACTIVATION_ID_PREFIX}' || lpad(:n::text, 12, '0'))::uuid`;
  const statements = {
    read: `\\set n random(0, ${activations - 1})\n${READ_ACTIVATIONS.replace('$1::uuid[]', `array[${activation}]`)};\n`,
    insert: `insert into telemetry_inbox (id, received_on, app_version, os_version, camera_count)
      values (gen_random_uuid(), current_date, '0.9.0', 'macOS 26.1', 4);\n`,
  };
  const result = {};
  for (const [name, script] of Object.entries(statements)) {
    const file = join(folder, `${name}.sql`);
    writeFileSync(file, script);
    const args = ['--no-vacuum', '--protocol=prepared', '--client=12', `--time=${seconds}`, `--file=${file}`];
    const { stdout } = await promisify(execFile)('pgbench', [...args, url]);
    result[name] = Number(/tps = ([\d.]+)/.exec(stdout)[1]);
  }
  return result;
}
