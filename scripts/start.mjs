// npm start: installs and builds what is missing, then runs the server until a signal ends it.
import { spawn } from 'node:child_process';
import {
  command,
  waitForExit,
  ensureBuilt,
  ensureInstalled,
  ensureWebBuilt,
  node24,
  root,
  ScriptError,
  SERVICE_FLAGS,
  SOURCE_MAPS,
} from './prepare.mjs';

const parent = process.ppid;

await command(async () => {
  const [argument] = process.argv.slice(2);
  if (argument !== undefined)
    throw new ScriptError(
      `npm start has no argument ${argument}. Settings are environment variables, such as PORT=3001 npm start; .env.example lists them.`,
    );
  await ensureInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  const args = [...SERVICE_FLAGS, SOURCE_MAPS, '--disable-warning=ExperimentalWarning', 'dist/main.js'];
  const server = spawn(node24(), args, {
    cwd: root,
    // The server ends when this channel closes, also if this process is killed.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // npm sends no signal to its children when it is killed, so the server is ended when the parent process changes. The parent
  // is npm, because `exec` in package.json replaces the shell.
  const timer = setInterval(() => {
    if (process.env.npm_lifecycle_event !== 'start' || process.ppid === parent) return;
    clearInterval(timer);
    server.kill('SIGTERM');
  }, 1_000).unref();
  // The terminal sends Ctrl-C to the server, too; `kill -INT` reaches only this process. Closing the channel works for both.
  return await waitForExit(server, { SIGINT: () => server.connected && server.disconnect() });
});
