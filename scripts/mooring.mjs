// npm run --silent mooring -- <command>: the operator's command line. Only the command writes to standard output.
import { spawn } from 'node:child_process';
import { command, waitForExit, ensureBuilt, ensureInstalled, node24, root, SOURCE_MAPS } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const args = process.argv.slice(2);
  const stdio = ['inherit', 'inherit', 'inherit'];
  // An option such as --passphrase-fd 3 names a file descriptor with a secret, which the command inherits.
  for (const [, fd] of args.join('\n').matchAll(/^--[a-z-]*fd[=\n](\d{1,3})$/gm)) stdio[fd] = Number(fd);
  const flags = [SOURCE_MAPS, '--disable-warning=ExperimentalWarning', 'dist/cli.js'];
  const child = spawn(node24(), [...flags, ...args], {
    cwd: root,
    // The caller's folder, for relative paths. npm sets the same variable.
    env: { INIT_CWD: process.cwd(), ...process.env },
    stdio: Array.from(stdio, (entry) => entry ?? 'ignore'),
  });
  return await waitForExit(child, { SIGINT: () => {} }); // The terminal sends Ctrl-C to the child, too.
});
