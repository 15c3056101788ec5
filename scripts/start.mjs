// npm start: whatever is missing is installed and built, then the server runs until a signal ends it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  command,
  ended,
  ensureBuilt,
  ensureInstalled,
  ensureWebBuilt,
  node24,
  root,
  SERVICE_FLAGS,
} from './prepare.mjs';

const parents = lineage();

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  const args = [...SERVICE_FLAGS, '--disable-warning=ExperimentalWarning', 'dist/main.js'];
  const server = spawn(node24(), [...args, ...process.argv.slice(2)], {
    cwd: root,
    // The channel tells the server when we are gone, however we went.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // A killed npm sends no signal to its children.
  const watch = setInterval(() => {
    if (process.env.npm_lifecycle_event !== 'start' || lineage() === parents) return;
    clearInterval(watch);
    server.kill('SIGTERM');
  }, 1_000).unref();
  // Ctrl-C has reached the server too, `kill -INT` has not: closing the channel ends it in both cases, once.
  return await ended(server, { SIGINT: () => server.connected && server.disconnect() });
});

/** Our parent's process id and its parent's: npm runs us through a shell, which outlives it. */
function lineage() {
  try {
    const [, grandparent] = / [A-Z] (\d+) /.exec(readFileSync(`/proc/${process.ppid}/stat`, 'utf8'));
    return `${process.ppid} ${grandparent}`;
  } catch {
    return String(process.ppid); // where there is no /proc, the shell is one that npm's command replaces
  }
}
