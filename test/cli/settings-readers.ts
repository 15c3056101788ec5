import { execFileSync } from 'node:child_process';

type Settings = Record<string, string>;

/** Prints the environment of a process that has read the file. */
const PRINT = ['-p', 'JSON.stringify(process.env)'];
/** Variables that a process has without any settings file. */
const OF_THE_PROCESS = /^(PATH|PWD|OLDPWD|SHLVL|_|LC_CTYPE|__.*)$/;

const settingsIn = (output: string): Settings =>
  Object.fromEntries(
    Object.entries(JSON.parse(output) as Settings).filter(([name]) => !OF_THE_PROCESS.test(name)),
  );

const run = (program: string, args: string[], cwd: string) =>
  settingsIn(execFileSync(program, args, { cwd, env: { PATH: process.env['PATH'] }, encoding: 'utf8' }));

/** What a process of Node has in its environment with `--env-file`. */
export const readByNode = (file: string, cwd: string): Settings =>
  run(process.execPath, [`--env-file=${file}`, ...PRINT], cwd);

/** What a process has in its environment after its shell has sourced the file. `set -a` exports the variables of the file. */
export const readByShell = (file: string, cwd: string): Settings =>
  run('sh', ['-euc', 'set -a; . "$0"; exec "$@"', file, process.execPath, ...PRINT], cwd);

/** The assignments of a file, without empty lines and comments. */
function assignmentsIn(text: string, comment: RegExp): [name: string, value: string][] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.includes('=') && !comment.test(line))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
}

/**
 * Reads a file by the rules of `EnvironmentFile=` in systemd.exec(5): in single quotes nothing is special, in double quotes a
 * backslash escapes `"`, a backslash, a backtick and `$` and stays before other characters, and outside quotes it escapes any
 * character. Values of several lines are not supported, because no settings file has one.
 */
export const readAsSystemd = (text: string): Settings =>
  Object.fromEntries(
    assignmentsIn(text, /^[#;]/).map(([name, value]) => {
      const [, single, double] = /^'([^']*)'$|^"((?:[^"\\]|\\.)*)"$/.exec(value) ?? [];
      if (single !== undefined) return [name, single];
      if (double !== undefined)
        return [name, double.replaceAll(/\\([\s\S])/g, (all, c: string) => ('"\\`$'.includes(c) ? c : all))];
      if (/^['"]/.test(value)) throw new Error(`This value is not closed: ${name}`);
      return [name, value.replaceAll(/\\(.)/g, '$1')];
    }),
  );

/**
 * Reads a file by the rules of docker compose (https://docs.docker.com/compose/env-file/): in single quotes only `\'` is special,
 * double quotes have escapes, variables are interpolated except in single quotes, and a `#` after a space, outside
 * quotes, begins a comment.
 */
export const readAsCompose = (text: string): Settings => {
  const settings: Settings = {};
  const interpolate = (value: string) =>
    value.replaceAll(/\$(?:\$|\{(\w+)\}|(\w+))/g, (all, braced?: string, plain?: string) =>
      all === '$$' ? '$' : (settings[braced ?? plain!] ?? ''),
    );
  for (const [name, value] of assignmentsIn(text, /^#/)) {
    const [, single, double] =
      /^'((?:[^'\\]|\\.)*)'(?:\s+#.*)?$|^"((?:[^"\\]|\\.)*)"(?:\s+#.*)?$/.exec(value) ?? [];
    if (single !== undefined) settings[name] = single.replaceAll("\\'", "'");
    else if (double !== undefined) settings[name] = interpolate(JSON.parse(`"${double}"`) as string);
    else settings[name] = interpolate(value.replace(/\s+#.*$/, ''));
  }
  return settings;
};
