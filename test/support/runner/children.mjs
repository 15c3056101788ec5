import { readdirSync, readFileSync } from 'node:fs';

/** Reads the ids of the child processes of a process, on Linux; elsewhere the result is empty. */
export function childrenOf(pid) {
  return readOrElse([], () => readdirSync(`/proc/${pid}/task`)).flatMap((thread) =>
    // A thread may end after the list was read.
    readOrElse('', () => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'))
      .trim()
      .split(' ')
      .filter(Boolean),
  );
}

function readOrElse(empty, read) {
  try {
    return read();
  } catch {
    return empty;
  }
}
