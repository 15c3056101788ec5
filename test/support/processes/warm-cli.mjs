// A process that runs one command after the other, as `mooring` would run each in its own process. It loads the command line only
// once, because that takes longer than most commands. test/support/processes/warm-cli.ts starts it.
import 'reflect-metadata';
import { Readable } from 'node:stream';
import { ofBuild } from './build.mjs';

const { run } = await import(ofBuild('cli/program.js'));

process.on('disconnect', () => process.exit());
process.on('message', async ({ args, cwd, env, stdin }) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([Buffer.from(stdin)]) });
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)];
  const code = await run(args);
  process.send({ code, stdout: stdout(), stderr: stderr() });
});

/** Collects what is written to a stream from now on. */
function collect(stream) {
  const chunks = [];
  stream.write = (chunk, encoding, callback) => {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    (typeof encoding === 'function' ? encoding : callback)?.();
    return true;
  };
  return () => Buffer.concat(chunks);
}
