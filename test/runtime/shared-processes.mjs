/** Child processes that several test files of a worker use, by their ids. */
const shared = new Map();

// They end with the worker, whatever ends it.
process.once('exit', () => shared.forEach((child) => child.kill('SIGKILL')));

/** Keeps a child process for later test files. */
export function shareProcess(child) {
  shared.set(String(child.pid), child);
}

export const isShared = (pid) => shared.has(pid);
