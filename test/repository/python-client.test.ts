import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { FIX_PROBLEMS, NO_ANSWERS, RETRY_PROBLEMS, WRONG_SHAPES } from '../client/faults.js';
import { filesOfWorkingCopy } from '../docs/working-copy.js';

/*
 * Checks what the Python client imports, and that it has what the reference client has. These tests need no Python:
 * `npm run test:python` runs the client's own tests.
 */

const FOLDER = 'clients/python/';
const PACKAGE = `${FOLDER}src/mooring_client/`;
const read = (path: string) => readFileSync(path, 'utf8');
const pythonFiles = (folder: string) => filesOfWorkingCopy((path) => path.endsWith('.py'), folder);

/**
 * The modules of the standard library that the package uses. Python 3.9 has each on every system, except `msvcrt` and `fcntl`,
 * which are imported only on the systems that have them.
 */
const STANDARD_LIBRARY = new Set(
  `__future__ base64 concurrent contextlib dataclasses datetime email errno fcntl hashlib heapq http itertools json logging
   math msvcrt os pathlib random re socket ssl subprocess sys threading time typing unicodedata urllib`.split(
    /\s+/,
  ),
);

/** The top modules that a file imports, without those of its own package. */
function importsOf(text: string): string[] {
  const matches = text.matchAll(/^\s*(?:import (\w+)|from (\w+)[\w.]* import )/gm);
  return [...matches].map(([, imported, from]) => (imported ?? from)!);
}

/** The texts at the beginning of the lines of a table of `faults.py`, such as `NO_ANSWERS: Dict[…] = {`. */
function namesOfTable(table: string): string[] {
  const text = read(`${FOLDER}tests/support/faults.py`);
  const [, rows] = new RegExp(`^${table}: [^=]+= \\{\\n([^]*?)^\\}`, 'm').exec(text)!;
  return [...rows!.matchAll(/^ {4}"([^"]+)": /gm)].map(([, name]) => name!);
}

describe('the Python client', () => {
  test('imports the standard library only, and in ed25519.py also `cryptography`', () => {
    const files = pythonFiles(PACKAGE);
    expect(files.length).toBeGreaterThan(20);
    const others = files.flatMap((path) =>
      importsOf(read(path))
        .filter((name) => !STANDARD_LIBRARY.has(name))
        .map((name) => `${basename(path)}: ${name}`),
    );
    expect([...new Set(others)]).toEqual(['ed25519.py: cryptography']);
  });

  test('meets the same faults as the reference client', () => {
    for (const [table, faults] of Object.entries({ NO_ANSWERS, WRONG_SHAPES, RETRY_PROBLEMS, FIX_PROBLEMS }))
      expect(namesOfTable(table)).toEqual(Object.keys(faults));
  });

  test('has one version, and the fields of telemetry of the reference client', () => {
    const [, version] = /^version = "(.+)"$/m.exec(read(`${FOLDER}pyproject.toml`))!;
    expect(read(`${PACKAGE}__init__.py`)).toContain(`__version__ = "${version}"`);
    const names = (text: string) => [
      ...text.matchAll(/^ {2,4}(?=\w+: is|"\w+": \w+,$)"?(\w+)"?: (?:isText|isInteger|str|int),$/gm),
    ];
    const [reference, python] = ['client/src/telemetry.ts', join(PACKAGE, 'telemetry.py')].map((path) =>
      names(read(path)).map(([, name]) => name),
    );
    expect(reference!.length).toBeGreaterThan(20);
    expect(python).toEqual(reference);
  });

  test('reads the same members of problems as the reference client', () => {
    const python = read(`${PACKAGE}problem.py`);
    for (const member of read('client/src/problem-members.ts').matchAll(
      /^ {4}(\w+): (?:orNull|instant|count|isWebAddress)/gm,
    ))
      expect(python).toContain(`"${member[1]!}": `);
  });

  test('is tested by .ci/run after `npm test`, and before the judges', () => {
    expect(read('.ci/run')).toMatch(/^npm test$[^]*^npm run test:python$[^]*^npm run judges$/m);
  });
});
