import { readdirSync, readFileSync } from 'node:fs';

/** The ids of the child processes of a process, on Linux; none elsewhere. */
export function childrenOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean),
    );
  } catch {
    return [];
  }
}
