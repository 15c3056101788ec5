import { readFileSync } from 'node:fs';

/**
 * Reads the memory of a process in bytes (/proc/PID/smaps_rollup, on Linux): `resident`, of which `anonymous` belongs to no file
 * and the rest is mainly the code of Node. `proportional` divides each shared page by the number of processes that share it.
 */
export function memoryParts(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const read = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)[1]) * 1024;
  return { resident: read('Rss'), anonymous: read('Anonymous'), proportional: read('Pss') };
}
