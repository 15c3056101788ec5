import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const script = <T>(name: string) => import(join(root, 'scripts', name)) as Promise<T>;

interface Step {
  readonly instruction: string;
  readonly value: string;
}
const { parseDockerfile, parseCopy, buildContext } = await script<{
  parseDockerfile(text: string): [{ steps: Step[] }, { steps: Step[] }];
  parseCopy(value: string): { stage?: string; sources: string[]; target: string };
  buildContext(text: string): (path: string) => boolean;
}>('image/dockerfile.mjs');
const { ensureBundled } = await script<{ ensureBundled(): Promise<void> }>('prepare.mjs');
const { packageFiles } = await script<{ packageFiles(): { path: string }[] }>('package-files.mjs');

const [build, final] = parseDockerfile(read('Dockerfile'));
const valuesOf = ({ steps }: { steps: Step[] }, instruction: string) =>
  steps.filter((step) => step.instruction === instruction).map(({ value }) => value);
const isInContext = buildContext(read('.dockerignore'));

test('the build context has all that the Dockerfile copies, and nothing secret', () => {
  const sources = valuesOf(build, 'COPY').flatMap((value) => parseCopy(value).sources);
  expect(sources.length).toBeGreaterThan(20);
  for (const source of sources.map((name) => name.replace(/\/$/, '')))
    expect([source, existsSync(join(root, source)), isInContext(source)]).toEqual([source, true, true]);
  for (const path of [
    '.env',
    'secrets/mooring/tokens',
    'data',
    'node_modules',
    'dist',
    'web/dist',
    '.git',
    'test',
  ])
    expect([path, isInContext(path)]).toEqual([path, false]);
});

test('the build copies every source of the archive, and every script that makes it', async () => {
  const sources = valuesOf(build, 'COPY').flatMap((value) => parseCopy(value).sources);
  const isCopied = (path: string) =>
    sources.some((source) => path === source || path.startsWith(source)) && isInContext(path);
  // The archive has files of the build, which are incomplete while another test builds. This waits until they are complete.
  await ensureBundled();
  const made = /^(dist|web\/dist|node_modules|bin)\//;
  const files = packageFiles().map(({ path }) => path);
  expect(files.filter((path) => !made.test(path) && !isCopied(path))).toEqual([]);
  const scripts = ['scripts/package.mjs', 'scripts/sbom.mjs'];
  for (const name of scripts) {
    const imports = [...read(name).matchAll(/from '\.\/(\S+)'/g)].map(([, file]) => `scripts/${file!}`);
    scripts.push(...imports.filter((file) => !scripts.includes(file)));
  }
  expect(scripts.length).toBeGreaterThan(4);
  expect(scripts.filter((file) => !isCopied(file))).toEqual([]);
});

test('the image is the archive: it installs nothing, and its user owns nothing but the folder `data`, for mails', () => {
  expect(valuesOf(final, 'COPY')).toEqual(['--from=build /build/app/ ./']);
  expect(valuesOf(final, 'RUN')).toEqual([
    'ln -s /app/dist/cli.js /usr/local/bin/mooring && install -d -m 700 -o node -g node data',
  ]);
  expect(valuesOf(final, 'WORKDIR')).toEqual(['/app']);
  expect(final.steps.findIndex(({ instruction }) => instruction === 'USER')).toBeGreaterThan(
    final.steps.findLastIndex(({ instruction }) => instruction === 'RUN'),
  );
});
