// Functions that the commands share: they ensure a complete node_modules, a current build and a new enough Node.
// This file has no dependencies, because it runs before they are installed. It must run on Node 20.19: with that or a later
// version the commands install the Node that runs the service. The file is long, because each command needs most of its steps.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs `npm ci` unless node_modules matches package-lock.json. */
export async function ensureInstalled() {
  const isInstalledByHand = () =>
    // npm writes this file at the end of an installation, so it is the newest if a user has run `npm ci`.
    mtime('node_modules/.package-lock.json') > Math.max(mtime('package-lock.json'), mtime('package.json'));
  await install('', ['--include=dev', '--include=optional'], isInstalledByHand);
}

/** Runs `npm ci` in judges/ unless its node_modules matches its package-lock.json. No install script runs there. */
export async function ensureJudgesInstalled() {
  try {
    await install('judges', ['--include=dev', '--ignore-scripts']);
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    const [, reason] = /npm (?:error|ERR!) code (\w+)/.exec(error.message) ?? [];
    throw new ScriptError(
      `The judges are not installed: \`npm ci\` in judges/ failed${reason ? ` (${reason})` : ''}. ` +
        'It needs a registry that npm reaches; run `npm run judges` again when there is one.',
    );
  }
}

/** Runs `npm ci` in mutation/ unless its node_modules matches its package-lock.json. No install script runs there. */
export async function ensureMutationInstalled() {
  await install('mutation', ['--include=dev', '--ignore-scripts']);
}

async function install(folder, flags, isInstalledByHand = () => false) {
  const stamp = join(root, folder, 'node_modules/.mooring-install');
  // The scripts of package.json are left out, because a change of them needs no installation.
  const expected = hash(
    read(join(folder, 'package-lock.json')),
    JSON.stringify({ ...JSON.parse(read(join(folder, 'package.json'))), scripts: {} }),
  );
  const isCurrent = () =>
    (existsSync(stamp) && readFileSync(stamp, 'utf8') === expected) || isInstalledByHand();
  if (isCurrent()) return;
  await withLock(async () => {
    if (isCurrent()) return;
    console.error(`Installing what is missing${folder && ` in ${folder}/`} (npm ci) …`);
    // Engine warnings are hidden, because npm may run on an older Node than the commands.
    await runQuietly('npm ci', 'npm', ['ci', '--loglevel=error', ...flags], join(root, folder));
    writeFileSync(stamp, expected);
  });
}

/** The folder of the bundle. */
export const BUNDLE = 'dist-server';
const SERVICE_SOURCES = ['src', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json'];

/** Builds the service unless dist/ was built from the present sources. */
export const ensureBuilt = () => build('dist', SERVICE_SOURCES, [bin('nest'), 'build']);

/** Bundles the built service and its packages as dist-server/, which is what production runs. */
export async function ensureBundled() {
  await ensureBuilt();
  await build(BUNDLE, [...SERVICE_SOURCES, 'scripts/bundle.mjs'], ['scripts/bundle.mjs']);
}

/** Builds the web pages into another folder than dist/, which the build of the service empties. */
export const ensureWebBuilt = () =>
  build(
    'web/dist',
    [
      'web/portal',
      'web/support',
      'web/privacy',
      'web/shared',
      'src/fields',
      'src/keys',
      'src/languages',
      'src/retention',
      'src/telemetry',
      'vite.config.ts',
    ],
    [bin('vite'), 'build', '--logLevel=warn'],
  );

/** Builds the reference client, which the demo and the bench of the pages run. */
export const ensureClientBuilt = () =>
  build('client/dist', ['client/src', 'client/tsconfig.json'], [bin('tsc'), '-p', 'client']);

const bin = (tool) => `node_modules/.bin/${tool}`;

async function build(into, from, program) {
  const stamp = join(root, into, '.mooring-build');
  const isCurrent = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(from);
  if (isCurrent()) return;
  await withLock(async () => {
    if (isCurrent()) return;
    const sources = fingerprint(from);
    console.error(`Building ${into} …`);
    await runQuietly('The build', node24(), program);
    writeFileSync(stamp, sources); // Written last, so that an interrupted build has no stamp.
  });
}

/**
 * @returns the path of the newer of two Node programs: the running one and the one that npm installed. @throws ScriptError if both
 * are older than 24
 */
export function node24() {
  const bundled = join(root, 'node_modules/.bin/node');
  const bundledVersion = spawnSync(bundled, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  const [[path, version]] = [
    [process.execPath, process.version],
    [bundled, bundledVersion.trim()],
  ].toSorted(([, a], [, b]) => b.localeCompare(a, 'en', { numeric: true }));
  if (parseInt(version.slice(1), 10) >= 24) return path;
  throw new ScriptError(
    `Mooring needs Node 24 or newer and found only ${version}. npm has no Node for this platform, so install one.`,
  );
}

/**
 * The flags with which Node runs the service. The Dockerfile and deploy/mooring@.service contain the same flags. By default on a
 * large machine, V8 uses up to a hundred megabytes for young objects, and for old ones up to four times what is in use. With these
 * limits it collects garbage more often, and the process stays small (docs/decisions/0057).
 */
export const SERVICE_FLAGS = ['--max-semi-space-size=8', '--max-old-space-size=512'];
/** The flag for the modules of dist/. The bundle has maps too, but only the log reads them (src/core/source-frames.ts). */
export const SOURCE_MAPS = '--enable-source-maps';

/** An error whose message is shown to the user without a stack trace. */
export class ScriptError extends Error {}

/** Runs the work of a script and sets its exit code. Only the message of a ScriptError is printed; the exit code is then 1. */
export async function command(work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/**
 * Waits for the end of a child process. Signals to this process are forwarded to the child, unless `handlers` has a
 * handler for them: the terminal, for example, sends the SIGINT of Ctrl-C to the child as well.
 * @returns the exit code of the child; if a signal ended it, 128 and the number of the signal
 */
export function waitForExit(child, handlers = {}) {
  const forward = (signal) => child.kill(signal);
  const all = { SIGINT: forward, SIGTERM: forward, SIGHUP: forward, ...handlers };
  for (const [signal, handler] of Object.entries(all)) process.on(signal, handler);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // Piped output has been read completely only on 'close'. Otherwise 'exit' counts, because 'close' is not emitted after the IPC
    // channel was disconnected.
    child.once(child.stdout ? 'close' : 'exit', (code, signal) => {
      for (const [name, handler] of Object.entries(all)) process.removeListener(name, handler);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/**
 * Runs a program as one step of a script, by default in the root folder. If a signal arrives meanwhile, this process ends after the
 * step. @param signalFor gives the signal that is forwarded to the program for a signal that this process receives
 * @returns the exit code, and the output if it is piped
 */
export async function step(program, args, options = {}, signalFor = (signal) => signal) {
  let received;
  const recordSignal = (signal) => (received = signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, recordSignal);
  const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output += text));
  const end = (signal) => child.kill(signalFor(signal));
  const code = await waitForExit(child, { SIGINT: end, SIGTERM: end, SIGHUP: end });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeListener(signal, recordSignal);
  if (received) process.exit(128 + constants.signals[received]);
  return { code, output };
}

async function runQuietly(name, program, args, cwd = root) {
  const stdio = ['ignore', 'pipe', 'pipe'];
  // SIGKILL, because npm continues for long after other signals. An interrupted step is repeated the next time.
  const { code, output } = await step(program, args, { stdio, cwd }, () => 'SIGKILL');
  if (code !== 0) throw new ScriptError(`${output.trim()}\n${name} failed.`);
}

/** Lets only one of several commands install or build at a time. */
async function withLock(work) {
  const lock = join(root, '.preparing');
  for (let isAnnounced = false; ; isAnnounced = true) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isAnnounced)
      console.error(
        'Waiting for another command that installs or builds (its process id is in .preparing) …',
      );
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
    // A zombie has ended as well; a container may never remove it. Without /proc this throws ENOENT.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).startsWith('Z ');
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** A hash of the names and times of the files of a build, and of package-lock.json. */
function fingerprint(from) {
  const files = from.flatMap((name) => (isFolder(name) ? filesIn(name) : [name]));
  return hash(...[...files, 'package-lock.json'].map((name) => `${name} ${mtime(name)}\n`));
}

const filesIn = (name) =>
  readdirSync(join(root, name), { recursive: true })
    .map((file) => `${name}/${file}`)
    .toSorted();
const isFolder = (name) => statSync(join(root, name)).isDirectory();
const read = (name) => readFileSync(join(root, name), 'utf8');
const mtime = (name) => statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
const hash = (...texts) => createHash('sha256').update(texts.join('')).digest('hex');
