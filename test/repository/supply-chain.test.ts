import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';

interface Locked {
  readonly name: string;
  readonly version: string;
  readonly id: string;
  readonly integrity: string;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly where: 'service' | 'pages';
}
interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly scope: string;
  readonly hashes: { alg: string; content: string }[];
  readonly licenses: { license: { id: string } }[];
  readonly properties: { name: string; value: string }[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const script = <T>(name: string) => import(join(root, 'scripts', name)) as Promise<T>;

const { locked, shipped, closure, importedByPages } = await script<{
  locked: Map<string, Locked>;
  shipped(): Map<string, Locked>;
  closure(names: string[]): Set<Locked>;
  importedByPages(): string[];
}>('shipped.mjs');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies' | 'optionalDependencies' | 'allowScripts',
  Record<string, string | boolean>
>;
const ids = (entries: Iterable<Locked>) => [...new Set([...entries].map(({ id }) => id))].toSorted();

const elsewhere = mkdtempSync(join(tmpdir(), 'mooring-sbom-'));
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

describe('a release', () => {
  test('holds what the direct dependencies bring, followed by hand, and what the pages import', () => {
    const followed = closure([...Object.keys(manifest.dependencies), ...importedByPages()]);
    expect(ids(shipped().values())).toEqual(ids(followed));
    expect(followed.size).toBeGreaterThan(200);
  });

  test('has pages that bundle what the bill of materials says, and that carry its licenses', () => {
    const notices = read('web/dist/licenses.md');
    const bundled = [...notices.matchAll(/^## (\S+) - (\S+) \((\S+)\)$/gm)].map(([, ...named]) => named);
    const pages = [...shipped().values()].filter(({ where }) => where === 'pages');
    expect(bundled).toEqual(pages.map(({ name, version, license }) => [name, version, license]));
    expect(notices.match(/^Copyright \(c\)/gm)).toHaveLength(pages.length);
  });
});

describe('npm run sbom', () => {
  /** Runs it where no registry answers, as if for production. @returns what it prints */
  async function sbom(folder: string): Promise<string> {
    const env = { PATH: process.env['PATH'], HOME: elsewhere, NODE_ENV: 'production' };
    const child = spawn(process.execPath, [join(folder, 'scripts/sbom.mjs')], {
      cwd: elsewhere,
      env: { ...env, npm_config_offline: 'true', npm_config_registry: 'http://127.0.0.1:9/' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text(child.stdout);
  }

  test('lists each package of a release with its purl, integrity and license, the same wherever it runs', async () => {
    // What the Dockerfile has at hand for it: nothing is installed there that it could read instead of the lock file.
    const scripts = /^COPY (.+) scripts\/$/m.exec(read('Dockerfile'))![1]!.split(' ');
    for (const name of ['package.json', 'package-lock.json', '.npmrc', 'web', ...scripts])
      cpSync(join(root, name), join(elsewhere, name), { recursive: true });
    const [here, there] = await Promise.all([sbom(root), sbom(elsewhere)]);
    expect(there).toBe(here);

    const bom = JSON.parse(here) as {
      metadata: { component: Component };
      components: Component[];
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    expect(bom).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: expect.stringMatching(/^1\.\d$/),
      version: 1,
    });
    expect(bom).toHaveProperty(
      'serialNumber',
      expect.stringMatching(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    );
    expect(bom.metadata.component).toMatchObject({ type: 'application', name: 'mooring' });
    expect(bom.components).toEqual(
      [...shipped().values()].map(({ id, name, version, integrity, license, where }) =>
        expect.objectContaining({
          'bom-ref': id,
          name,
          version,
          scope: 'required',
          purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
          hashes: [
            {
              alg: 'SHA-512',
              content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
            },
          ],
          licenses: [{ license: { id: license } }],
          properties: [{ name: 'mooring:held-by', value: where }],
        }),
      ),
    );
    expect(here).not.toMatch(/timestamp|resolved|distribution|registry|\/tmp|\/root|\/home/);

    // Each is reached from us: a path that breaks would hide what came how.
    const next = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const reached = new Set([bom.metadata.component['bom-ref']]);
    for (const ref of reached) for (const other of next.get(ref)!) reached.add(other);
    expect(reached.size).toBe(bom.components.length + 1);
  });
});

describe('licenses', () => {
  test('docs/licenses.md is what the lock file says (npm run docs:licenses writes it)', async () => {
    const { licensesAsMarkdown } = await script<{ licensesAsMarkdown(): string }>('docs-licenses.mjs');
    expect(read('docs/licenses.md')).toBe(licensesAsMarkdown());
  });

  test('only those of the list occur, the shorter one in what is passed on', async () => {
    const { ALLOWED, ALLOWED_FOR_TOOLS } = await script<{
      ALLOWED: Record<string, string>;
      ALLOWED_FOR_TOOLS: string[];
    }>('docs-licenses.mjs');
    const beyond = (entries: Iterable<Locked>, allowed: string[]) =>
      [...entries]
        .filter(({ license }) => !allowed.includes(license ?? 'none'))
        .map(({ id, license }) => [id, license]);
    expect(beyond(shipped().values(), Object.keys(ALLOWED))).toEqual([]);
    // Programs have licenses that npm does not know: docs/licenses.md says them in words.
    const tools = [...locked.values()].filter(({ name }) => !(name in manifest.optionalDependencies));
    expect(beyond(tools, ALLOWED_FOR_TOOLS)).toEqual([]);
    expect([...Object.keys(ALLOWED), ...ALLOWED_FOR_TOOLS].join(' ')).not.toMatch(
      /GPL|SSPL|BUSL|Commons-Clause|UNLICENSED/i,
    );
  });
});

describe('dependencies', () => {
  test('docs/dependencies.md is what is locked and installed (npm run docs:dependencies writes it)', async () => {
    const { dependenciesAsMarkdown } = await script<{ dependenciesAsMarkdown(): string }>(
      'docs-dependencies.mjs',
    );
    expect(read('docs/dependencies.md')).toBe(dependenciesAsMarkdown());
  });

  test('each direct one has its reason, and no reason has outlived its dependency', async () => {
    const { REASONS, BINARIES } = await script<{
      REASONS: Record<string, string>;
      BINARIES: { pattern: RegExp }[];
    }>('dependency-reasons.mjs');
    const direct = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(Object.keys(REASONS).toSorted()).toEqual(direct.toSorted());
    const unexplained = Object.keys(manifest.optionalDependencies).filter(
      (name) => !BINARIES.some(({ pattern }) => pattern.test(name)),
    );
    expect(unexplained).toEqual([]);
  });

  test('each is named at one exact version', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const ranges = Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(
      ranges.filter((range) => !/^(npm:typescript@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(range))),
    ).toEqual([]);
  });

  test('one that brings an install script is decided upon by name', () => {
    const bringing = [...locked.values()].filter(({ hasInstallScript }) => hasInstallScript);
    expect(ids(bringing).map((id) => id.slice(0, id.lastIndexOf('@')))).toEqual(
      Object.keys(manifest.allowScripts).toSorted(),
    );
  });
});
