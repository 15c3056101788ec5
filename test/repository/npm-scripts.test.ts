import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const commands: Record<string, string> = JSON.parse(readFileSync('package.json', 'utf8')).scripts;
const programs = Object.values(commands).flatMap((text) => /^exec node (\S+)$/.exec(text)?.[1] ?? []);

/** Returns what a program imports before its first statement runs: modules of Node, packages, and the paths of files. */
function staticImports(path: string, found = new Set<string>()): Set<string> {
  for (const [, name] of readFileSync(path, 'utf8').matchAll(
    /^(?:import|export) (?:[^'"]*? from )?'(.+?)'/gm,
  )) {
    const file = join(dirname(path), name!);
    const isFile = name!.startsWith('.');
    if (found.has(isFile ? file : name!)) continue;
    found.add(isFile ? file : name!);
    if (isFile && existsSync(file)) staticImports(file, found);
  }
  return found;
}

// A program installs packages, builds the service and finds Node 24 itself, so it must start without any of these.
test.each(programs)('%s starts on a fresh checkout and an old Node', (program) => {
  const imports = [...staticImports(program)];
  expect(imports.filter((name) => !name.startsWith('node:') && !name.endsWith('.mjs'))).toEqual([]);
});

test('npm start refuses an argument, and says where its settings are', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/start.mjs', '--port'], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'npm start has no argument --port. Settings are environment variables, such as PORT=3001 npm start; .env.example lists them.\n',
  });
});
