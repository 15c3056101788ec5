/** The child processes that several test files of a worker use, by their process ids. */
const shared = new Map();

// A killed worker emits no `exit`. Then its child processes end because their channel to it is closed.
process.once('exit', () => shared.forEach((child) => child.kill('SIGKILL')));

/** Registers a child process that is kept for later test files. */
export function shareProcess(child) {
  const pid = String(child.pid);
  shared.set(pid, child);
  child.once('exit', () => shared.delete(pid));
}

export const isShared = (pid) => shared.has(pid);
