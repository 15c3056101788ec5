// A process that runs one command after the other, as `mooring` would run each in its own process. It loads the command line only
// once, because that takes longer than most commands. test/support/processes/warm-cli.ts starts it.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { extendLimits } from '../request-limits.ts';
import { ofBuild } from './build.mjs';
// Commands read the database and TOMBSTONE_FILE with the time limits of requests, and warn of what is slower.
import './generous-limits.mjs';

const { RESPONSE_TIMEOUTS_MS } = await import(ofBuild('cli/context/response-timeouts.js'));
Object.assign(RESPONSE_TIMEOUTS_MS, extendLimits(RESPONSE_TIMEOUTS_MS));
const { run } = await import(ofBuild('cli/program.js'));
/** Where `fetch` keeps its connections. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

process.on('disconnect', () => process.exit());
process.on('message', async ({ args, cwd, env, stdin, fd3File }) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([Buffer.from(stdin)]) });
  openAtThree(fd3File ?? '/dev/null');
  const withdrawTrust = trust(env.NODE_EXTRA_CA_CERTS);
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)];
  const code = await run(args);
  withdrawTrust();
  await closeConnections();
  process.send({ code, stdout: stdout(), stderr: stderr() });
});

/** Opens a file as file descriptor 3. Before, the descriptor refers to an earlier file. */
function openAtThree(path) {
  closeSync(3);
  // The system takes the lowest number that is free.
  assert.equal(openSync(path), 3);
}

/** Trusts the authorities in a file, which Node does only when a process starts. @returns a function that withdraws the trust */
function trust(file) {
  if (file === undefined) return () => undefined;
  const before = getCACertificates('default');
  setDefaultCACertificates([readFileSync(file, 'utf8')]);
  return () => setDefaultCACertificates(before);
}

/** Closes the connections that `fetch` keeps, because the process of a command has none when it starts. */
async function closeConnections() {
  const dispatcher = globalThis[DISPATCHER];
  if (dispatcher === undefined) return;
  globalThis[DISPATCHER] = new dispatcher.constructor();
  await dispatcher.destroy();
}

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
