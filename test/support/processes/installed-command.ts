import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { runOf, type Run } from './cli-harness.js';
import { baseEnvironment } from './server-process.js';
import { temporaryFolder } from '../folders.js';

interface Options {
  /** The path of the settings file, if it is not the one in `settingsDir`. */
  readonly settings?: string;
  /** The name of the user who calls the command, as far as the command can see: by default that of the service. */
  readonly user?: string;
  /** A program with its arguments, to which the command and its own arguments are added. */
  readonly caller?: readonly string[];
}

/**
 * The command `mooring` of an installation, called by a link as in /usr/local/bin. A test may run as any user: scripts replace the
 * program `id`, and the program `runuser`, whose script prints its arguments.
 */
export class InstalledCommand {
  readonly #dir = temporaryFolder();
  /** The path by which the command is called. */
  readonly command = join(this.#dir, 'mooring');
  /** The folder that `init` gets. */
  readonly settingsDir = join(this.#dir, 'settings');

  /** @param target the path of the command */
  constructor(target: string) {
    symlinkSync(resolve(target), this.command);
    mkdirSync(this.#file('bin'));
    symlinkSync(process.execPath, this.#file('bin/node'));
    this.#script('id', '[ "$1" = -u ] && echo "$TEST_USER_ID" || echo "$TEST_USER"');
    this.#script('runuser', 'printf "%s\\n" runuser "$@"');
  }

  #file = (name: string) => join(this.#dir, name);
  #script = (name: string, line: string) => {
    writeFileSync(this.#file(`bin/${name}`), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  };

  /** Adds lines to the settings file. A later line is stronger than an earlier one. */
  fillIn(settings: Readonly<Record<string, string | undefined>>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value ?? ''}\n`);
    appendFileSync(join(this.settingsDir, 'mooring.env'), lines.join(''));
  }

  async run(
    args: readonly string[],
    { settings, user = 'mooring', caller = [] }: Options = {},
  ): Promise<Run> {
    const { PATH, ...rest } = baseEnvironment();
    const [program, ...programArguments] = [...caller, this.command, ...args];
    const child = spawn(program!, programArguments, {
      cwd: this.#dir,
      env: {
        ...rest,
        PATH: `${this.#file('bin')}:${PATH}`,
        TEST_USER: user,
        TEST_USER_ID: user === 'root' ? '0' : '1000',
        MOORING_SETTINGS: settings ?? join(this.settingsDir, 'mooring.env'),
      },
    });
    child.stdin.end();
    const [stdout, stderr, [code]] = await Promise.all([
      buffer(child.stdout),
      text(child.stderr),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return runOf(code, stdout, stderr);
  }
}
