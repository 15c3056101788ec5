import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { DAY_MS } from '../../../src/core/clock.js';
import { publicJwk } from '../../../src/keys/ed25519/ed25519.js';
import type { SignedManifest } from '../../../src/keys/manifests/signed-manifest.js';
import { temporaryFolder } from '../folders.js';
import type { Service } from '../harness.js';
import { ofBuild } from './build.mjs';
import { baseEnvironment } from './server-process.js';
import { runWarm, type Command } from './warm-cli.js';

export const CLI = fileURLToPath(ofBuild('cli.js'));

/** A URL with a port to which `fetch` refuses to connect. */
export const UNREACHABLE_URL = 'http://127.0.0.1:9';

/** The result of a run of the command line. */
export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The JSON value on standard output; undefined unless the output is one line with one JSON value. */
  // oxlint-disable-next-line no-explicit-any -- the tests are about the shape of the output
  readonly json: any;
}

export interface RunOptions {
  readonly env?: Record<string, string | undefined>;
  readonly stdin?: string;
  /** The text that can be read from file descriptor 3. */
  readonly fd3?: string;
  /** The path of the program, if it is not that of the command line. */
  readonly program?: string;
}

/** Runs the command line in a temporary folder, with settings that refer to this folder. */
export class Terminal {
  readonly dir = temporaryFolder();

  constructor(readonly env: Record<string, string | undefined>) {}

  /** A command line with the database and the data folder of a service. */
  static beside({ databaseUrl, dataDir }: Pick<Service, 'databaseUrl' | 'dataDir'>): Terminal {
    return new Terminal({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir });
  }

  file(name: string): string {
    return join(this.dir, name);
  }

  /** Starts a program of the build in the temporary folder, with the settings of this terminal and of `env` in its environment. */
  start(program: string, args: readonly string[], env: RunOptions['env'] = {}): ChildProcess {
    return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
      cwd: this.dir,
      env: { ...baseEnvironment(), NODE_ENV: undefined, ...this.settings(env) },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
  }

  /** Runs a command. If the options allow it, a process that has run other commands is reused, because that is faster. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Run> {
    const { program, fd3, env, stdin = '' } = options;
    const settings = this.settings(env);
    if (program !== undefined || 'NODE_OPTIONS' in settings) return this.runInNewProcess(args, options);
    const command = { args, cwd: this.dir, env: settings, stdin };
    if (fd3 === undefined) return this.runInWarmProcess(command);
    const fd3File = join(temporaryFolder(), 'fd3');
    writeFileSync(fd3File, fd3);
    return this.runInWarmProcess({ ...command, fd3File });
  }

  private async runInWarmProcess(command: Command): Promise<Run> {
    const { code, stdout, stderr } = await runWarm(command);
    return runOf(code, Buffer.from(stdout), Buffer.from(stderr).toString());
  }

  async runInNewProcess(
    args: readonly string[],
    { env, stdin, fd3, program }: RunOptions = {},
  ): Promise<Run> {
    const child = this.start(program ?? CLI, args, env);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const input = child.stdio[3] as typeof child.stdin;
    // A command that fails early reads neither standard input nor descriptor 3, so writing to them may fail.
    for (const stream of [child.stdin, input]) stream?.on('error', () => undefined);
    child.stdin?.end(stdin ?? '');
    input?.end(fd3 ?? '');
    const [stdout, stderr, code] = await Promise.all([buffer(child.stdout!), text(child.stderr!), ended]);
    return runOf(code, stdout, stderr);
  }

  /**
   * Runs a command in a terminal, which the program `script` makes (`testWith`).
   * @param question the beginning of the first question @param typed what the person types
   * @returns what the terminal shows from the question on, because before the question it may echo what was typed too early
   */
  runInTerminal(
    args: readonly string[],
    { question, typed, env }: { question: string; typed: string; env?: RunOptions['env'] },
  ): { code: number | null; shown: string } {
    const command = [process.execPath, CLI, ...args].join(' ');
    const { status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
      cwd: this.dir,
      env: this.settings(env),
      input: typed,
      encoding: 'utf8',
    });
    return { code: status, shown: stdout.slice(stdout.indexOf(question)) };
  }

  private settings(env: RunOptions['env'] = {}): Record<string, string> {
    const { PATH } = process.env;
    const own = { DATA_DIR: this.file('data'), PUBLIC_URL: UNREACHABLE_URL, NODE_ENV: 'development' };
    const all = { PATH, ...own, ...this.env, ...env };
    return Object.fromEntries(
      Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
  }

  /** Runs a command with --json that must succeed. @returns the value that it prints */
  async json(args: readonly string[], options: RunOptions = {}): Promise<Run['json']> {
    const run = await this.run([...args, '--json'], options);
    if (run.code === 0 && run.json !== undefined) return run.json;
    throw new Error(`mooring ${args.join(' ')} ended with ${run.code}: ${run.stderr}${run.stdout}`);
  }

  /** Makes the secrets of a production deployment in a folder. @returns the settings of production that contain or name them */
  async init(dir: string): Promise<{ NODE_ENV: string; LICENSE_KEY_SECRET: string; TOKEN_KEYS_DIR: string }> {
    const { settings_file } = await this.json(['init', dir]);
    const { NODE_ENV, LICENSE_KEY_SECRET, TOKEN_KEYS_DIR } = parseEnv(readFileSync(settings_file, 'utf8'));
    return { NODE_ENV: NODE_ENV!, LICENSE_KEY_SECRET: LICENSE_KEY_SECRET!, TOKEN_KEYS_DIR: TOKEN_KEYS_DIR! };
  }
}

/** Describes a run by its exit code and its output. */
export function runOf(code: number | null, stdout: Buffer, stderr: string): Run {
  const output = stdout.toString();
  return { code, stdout: output, stderr, json: /^[^\n]+\n$/.test(output) ? parsed(output) : undefined };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The settings of a publisher's machine, on which there is no server and no database. */
export const WITHOUT_SERVER = { DATABASE_URL: undefined, DATA_DIR: '/nonexistent' };
export const PASSPHRASE = 'correct horse';
/** The time in this many days, as `--expires` takes it. Commands use the clock of the machine. */
export const inDays = (days: number) =>
  new Date(Date.now() + days * DAY_MS).toISOString().replace(/\.\d+/, '');
export const imageUrl = (version: string) => `https://dl.example.com/App-${version}.dmg`;

/** A file that `manifest sign` takes for a disk image: its last 512 bytes begin with `koly`. */
export const DISK_IMAGE = `an image${'koly'.padEnd(512, '.')}`;

/** A publisher's folder with an image and two trusted keys: `one.pem`, which is encrypted, and `two.pem`, which is not. */
export class Publisher extends Terminal {
  publicKeyOfOne = '';
  publicKeyOfTwo = '';

  /** @param hasKeygenKey whether `manifest keygen` creates `one.pem`, which is slow and only needed by tests of that command */
  static async at(databaseUrl: string, { hasKeygenKey = false } = {}): Promise<Publisher> {
    const publisher = new Publisher({ DATABASE_URL: databaseUrl });
    publisher.publicKeyOfOne = hasKeygenKey
      ? await publisher.keygen('one.pem', ['--passphrase-fd', '3'], PASSPHRASE)
      : publisher.writeEncryptedKey('one.pem', PASSPHRASE);
    publisher.publicKeyOfTwo = await publisher.keygen('two.pem', ['--no-passphrase']);
    publisher.env['MANIFEST_PUBLIC_KEYS'] = `${publisher.publicKeyOfOne},${publisher.publicKeyOfTwo}`;
    writeFileSync(publisher.file('App.dmg'), DISK_IMAGE);
    return publisher;
  }

  private async keygen(name: string, moreArgs: string[], fd3?: string): Promise<string> {
    const args = ['manifest', 'keygen', '--out', name, ...moreArgs];
    return (await this.json(args, { env: WITHOUT_SERVER, ...(fd3 !== undefined && { fd3 }) }))
      .public_key as string;
  }

  /**
   * Writes a key encrypted with PBKDF2, as older versions of `manifest keygen` did: opening it takes a hundredth of the time.
   * @returns the public half
   */
  writeEncryptedKey(name: string, passphrase: string): string {
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase });
    writeFileSync(this.file(name), pem, { mode: 0o600 });
    return publicJwk(privateKey).x;
  }

  /** Signs a version with `two.pem`. @returns what the command prints */
  sign(version: string, ...moreArgs: string[]): Promise<SignedManifest> {
    return this.json(signArgs(version, ...moreArgs), { env: WITHOUT_SERVER });
  }

  /**
   * Publishes the manifest in a file, without fetching the image. Nothing listens at the PUBLIC_URL of the tests, so the command
   * ends with 1 although the manifest is published. @returns what the command prints
   */
  async publish(
    file: string,
    { env, args = [] }: Pick<RunOptions, 'env'> & { args?: string[] } = {},
  ): Promise<Run['json']> {
    const run = await this.run([...PUBLISH, file, '--json', ...args], { env });
    if (run.json?.served !== undefined) return run.json;
    throw new Error(`mooring manifest publish ended with ${run.code}: ${run.stderr}`);
  }

  /** Writes a document to a file. @returns its name */
  writeDocument(name: string, document: unknown): string {
    writeFileSync(this.file(name), JSON.stringify(document));
    return name;
  }
}

/**
 * The beginning of the arguments of `mooring manifest publish`. No image is at the addresses of the tests. On a slow machine a
 * service may need longer than the default of 6 seconds to serve a manifest.
 */
export const PUBLISH = ['manifest', 'publish', '--no-fetch', '--wait', '300'];

/**
 * The arguments of `mooring manifest sign` for a version, without `--key`. `--again` allows the same image for all versions, and
 * `--high-minimum` a minimum in a fixed year.
 */
export function signArgsWithoutKey(version: string, ...moreArgs: string[]): string[] {
  const image = ['--dmg', 'App.dmg', '--version', version, '--url', imageUrl(version)];
  return ['manifest', 'sign', ...image, '--again', '--high-minimum', ...moreArgs];
}

/** The arguments of `mooring manifest sign` for a version, with the key `two.pem`. */
export const signArgs = (version: string, ...moreArgs: string[]) =>
  signArgsWithoutKey(version, '--key', 'two.pem', ...moreArgs);
