// What the commands have in common: a complete node_modules, a current build, a Node that is new enough.
// Runs on whatever Node the machine has, before anything is installed, hence without dependencies.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs `npm ci` unless node_modules is what package-lock.json asks for. */
export async function ensureInstalled() {
  const byHand = () =>
    // npm writes this file last.
    mtime('node_modules/.package-lock.json') > Math.max(mtime('package-lock.json'), mtime('package.json'));
  await install('', ['--include=dev', '--include=optional'], byHand);
}

/** Runs `npm ci` in judges/ unless its node_modules matches its package-lock.json. No install script runs there. */
export async function ensureJudgesInstalled() {
  try {
    await install('judges', ['--include=dev', '--ignore-scripts']);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const [, reason] = /npm (?:error|ERR!) code (\w+)/.exec(error.message) ?? [];
    throw new Fault(
      `The judges are not installed: \`npm ci\` in judges/ failed${reason ? ` (${reason})` : ''}. ` +
        'It needs a registry that npm reaches; run `npm run judges` again when there is one.',
    );
  }
}

/** Runs `npm ci` in mutation/ unless its node_modules matches its package-lock.json. No install script runs there. */
export async function ensureMutationInstalled() {
  await install('mutation', ['--include=dev', '--ignore-scripts']);
}

async function install(folder, flags, byHand = () => false) {
  const stamp = join(root, folder, 'node_modules/.mooring-install');
  const wanted = hash(
    read(join(folder, 'package-lock.json')),
    JSON.stringify({ ...JSON.parse(read(join(folder, 'package.json'))), scripts: {} }),
  );
  const current = () => (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) || byHand();
  if (current()) return;
  await alone(async () => {
    if (current()) return;
    console.error(`Installing what is missing${folder && ` in ${folder}/`} (npm ci) …`);
    // Without engine warnings: npm itself may well run on an older Node than ours.
    await quietly('npm ci', 'npm', ['ci', '--loglevel=error', ...flags], join(root, folder));
    writeFileSync(stamp, wanted);
  });
}

/** Builds the service unless dist/ was made of exactly these sources. */
export const ensureBuilt = () =>
  build('dist', ['src', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json'], ['nest', 'build']);

/** Builds the web pages; not into dist/, which the build of the service empties. */
export const ensureWebBuilt = () =>
  build(
    'web/dist',
    ['web/portal', 'web/support', 'web/privacy', 'web/shared', 'vite.config.ts'],
    ['vite', 'build', '--logLevel=warn'],
  );

/** Builds the reference client, which the demo runs. */
export const ensureClientBuilt = () =>
  build('client/dist', ['client/src', 'client/tsconfig.json'], ['tsc', '-p', 'client']);

async function build(into, from, [tool, ...args]) {
  const stamp = join(root, into, '.mooring-build');
  const current = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === state(from);
  if (current()) return;
  await alone(async () => {
    if (current()) return;
    const built = state(from);
    console.error(`Building ${into} …`);
    await quietly('The build', node24(), [`node_modules/.bin/${tool}`, ...args]);
    writeFileSync(stamp, built); // last: a build that was interrupted has none
  });
}

/** The path of the newest Node at hand, of those that Mooring runs on. */
export function node24() {
  const bundled = join(root, 'node_modules/.bin/node');
  const bundledVersion = spawnSync(bundled, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  const [[path, version]] = [
    [process.execPath, process.version],
    [bundled, bundledVersion.trim()],
  ].toSorted(([, a], [, b]) => b.localeCompare(a, 'en', { numeric: true }));
  if (parseInt(version.slice(1), 10) >= 24) return path;
  throw new Fault(
    `Mooring needs Node 24 or newer and found only ${version}: none came from npm for this platform, so install one.`,
  );
}

/**
 * How Node runs the service, here and in the Dockerfile. Left to itself on a large machine, V8 gives young objects up to a
 * hundred megabytes and lets old ones grow to four times what is in use; given less, it clears more often and the process
 * stays small. In use are some 50 MB (bench/soak/soak.md).
 */
export const SERVICE_FLAGS = ['--enable-source-maps', '--max-semi-space-size=8', '--max-old-space-size=512'];

/** A sentence for the person at the terminal, who needs no stack trace. */
export class Fault extends Error {}

/** Runs a command's own work: a fault is one sentence and exit code 1. */
export async function command(work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/**
 * Waits for a child's end and answers its exit code. A signal meant to end us goes to the child, unless
 * `handlers` has another answer to it: Ctrl-C, for one, sends SIGINT to the child as well.
 */
export function ended(child, handlers = {}) {
  const forward = (signal) => child.kill(signal);
  const all = { SIGINT: forward, SIGTERM: forward, SIGHUP: forward, ...handlers };
  for (const [signal, handler] of Object.entries(all)) process.on(signal, handler);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // All output is there on 'close', which does not come where a channel was disconnected.
    child.once(child.stdout ? 'close' : 'exit', (code, signal) => {
      for (const [name, handler] of Object.entries(all)) process.removeListener(name, handler);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Runs one step among several, in the root: after a signal to end, no step follows. */
export async function step(program, args, options = {}, how = (signal) => signal) {
  let received;
  const note = (signal) => (received = signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, note);
  const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output += text));
  const end = (signal) => child.kill(how(signal));
  const code = await ended(child, { SIGINT: end, SIGTERM: end, SIGHUP: end });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeListener(signal, note);
  if (received) process.exit(128 + constants.signals[received]);
  return { code, output };
}

async function quietly(name, program, args, cwd = root) {
  const stdio = ['ignore', 'pipe', 'pipe'];
  // Killed, for npm goes on for long after a signal; what is half done is done anew.
  const { code, output } = await step(program, args, { stdio, cwd }, () => 'SIGKILL');
  if (code !== 0) throw new Fault(`${output.trim()}\n${name} failed.`);
}

/** Commands that start together prepare one after the other. */
async function alone(work) {
  const lock = join(root, '.preparing');
  for (let isAnnounced = false; ; isAnnounced = true) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isAnnounced)
      console.error('Waiting for another command that prepares the same (.preparing holds its process id) …');
    await pause(200);
    if (isStale(lock)) rmSync(lock, { force: true });
  }
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.removeListener('exit', release);
    release();
  }
}

function isStale(lock) {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    process.kill(pid, 0);
    // Dead too, though never reaped, as happens in containers; where there is no /proc, this throws ENOENT.
    return / Z \d+ /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** What a build is made of, by the times of its files. */
function state(from) {
  const files = from.flatMap((name) => (isFolder(name) ? inside(name) : [name]));
  return hash(...[...files, 'package-lock.json'].map((name) => `${name} ${mtime(name)}\n`));
}

const inside = (name) =>
  readdirSync(join(root, name), { recursive: true })
    .map((file) => `${name}/${file}`)
    .toSorted();
const isFolder = (name) => statSync(join(root, name)).isDirectory();
const read = (name) => readFileSync(join(root, name), 'utf8');
const mtime = (name) => statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
const hash = (...texts) => createHash('sha256').update(texts.join('')).digest('hex');
