// npm run --silent mooring -- <command>: the operator's command line. Standard output is the command's alone.
import { spawn } from 'node:child_process';
import { command, ended, ensureBuilt, ensureInstalled, node24, root } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const args = process.argv.slice(2);
  const stdio = ['inherit', 'inherit', 'inherit'];
  // A secret may come in by a file descriptor that an option names: --passphrase-fd 3.
  for (const [, fd] of args.join('\n').matchAll(/^--[a-z-]*fd[=\n](\d)$/gm)) stdio[fd] = Number(fd);
  const flags = ['--enable-source-maps', '--disable-warning=ExperimentalWarning', 'dist/cli.js'];
  const child = spawn(node24(), [...flags, ...args], {
    cwd: root,
    // What the caller's relative paths are relative to, as npm says it too.
    env: { INIT_CWD: process.cwd(), ...process.env },
    stdio: Array.from(stdio, (each) => each ?? 'ignore'),
  });
  return await ended(child, { SIGINT: () => {} }); // Ctrl-C has reached the child itself
});
