// npm start: installs and builds what is missing, then runs the server until a signal ends it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  command,
  waitForExit,
  ensureBuilt,
  ensureInstalled,
  ensureWebBuilt,
  node24,
  root,
  SERVICE_FLAGS,
} from './prepare.mjs';

const parents = parentIds();

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  const args = [...SERVICE_FLAGS, '--disable-warning=ExperimentalWarning', 'dist/main.js'];
  const server = spawn(node24(), [...args, ...process.argv.slice(2)], {
    cwd: root,
    // The server ends when this channel closes, also if this process is killed.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // npm sends no signal to its children when it is killed, so the server is ended when a parent process changes.
  const timer = setInterval(() => {
    if (process.env.npm_lifecycle_event !== 'start' || parentIds() === parents) return;
    clearInterval(timer);
    server.kill('SIGTERM');
  }, 1_000).unref();
  // The terminal sends Ctrl-C to the server, too; `kill -INT` reaches only this process. Closing the channel works for both.
  return await waitForExit(server, { SIGINT: () => server.connected && server.disconnect() });
});

/** The process ids of the parent and its parent: npm runs this script in a shell, which does not end with npm. */
function parentIds() {
  try {
    const [, grandparent] = / [A-Z] (\d+) /.exec(readFileSync(`/proc/${process.ppid}/stat`, 'utf8'));
    return `${process.ppid} ${grandparent}`;
  } catch {
    return String(process.ppid); // Without /proc (macOS) the shell is replaced by this process, so the parent is npm.
  }
}
