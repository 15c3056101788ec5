import { spawn } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folders.js';

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

const { locked, releasedPackages, closure, importedByPages } = await script<{
  locked: Map<string, Locked>;
  releasedPackages(): Map<string, Locked>;
  closure(names: string[]): Set<Locked>;
  importedByPages(): string[];
}>('shipped.mjs');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies' | 'optionalDependencies' | 'allowScripts',
  Record<string, string | boolean>
>;
const ids = (entries: Iterable<Locked>) => [...new Set([...entries].map(({ id }) => id))].toSorted();

const directory = temporaryFolder();

describe('a release', () => {
  test('contains the direct dependencies, all packages that they need, and what the pages import', () => {
    const needed = closure([...Object.keys(manifest.dependencies), ...importedByPages()]);
    expect(ids(releasedPackages().values())).toEqual(ids(needed));
    expect(needed.size).toBeGreaterThan(200);
  });

  test('has pages that bundle the packages of the bill of materials, and contain their licenses', () => {
    const notices = read('web/dist/licenses.md');
    const bundled = [...notices.matchAll(/^## (\S+) - (\S+) \((\S+)\)$/gm)].map(([, ...named]) => named);
    const pages = [...releasedPackages().values()].filter(({ where }) => where === 'pages');
    expect(bundled).toEqual(pages.map(({ name, version, license }) => [name, version, license]));
    expect(notices.match(/^Copyright \(c\)/gm)).toHaveLength(pages.length);
  });
});

describe('npm run sbom', () => {
  /** Runs `npm run sbom` without a registry and as in production. @returns the printed bill of materials */
  async function sbom(folder: string): Promise<string> {
    const env = { PATH: process.env['PATH'], HOME: directory, NODE_ENV: 'production' };
    const child = spawn(process.execPath, [join(folder, 'scripts/sbom.mjs')], {
      cwd: directory,
      env: { ...env, npm_config_offline: 'true', npm_config_registry: 'http://127.0.0.1:9/' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text(child.stdout);
  }

  test('lists each package of a release with its purl, integrity and license, the same wherever it runs', async () => {
    // The copy has only the files that the Dockerfile copies, so the script can read the lock file but no installed package.
    const scripts = /^COPY (.+) scripts\/$/m.exec(read('Dockerfile'))![1]!.split(' ');
    for (const name of ['package.json', 'package-lock.json', '.npmrc', 'web', ...scripts])
      cpSync(join(root, name), join(directory, name), { recursive: true });
    const [sbomHere, sbomInCopy] = await Promise.all([sbom(root), sbom(directory)]);
    expect(sbomInCopy).toBe(sbomHere);

    const bom = JSON.parse(sbomHere) as {
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
      [...releasedPackages().values()].map(({ id, name, version, integrity, license, where }) =>
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
    expect(sbomHere).not.toMatch(/timestamp|resolved|distribution|registry|\/tmp|\/root|\/home/);

    // Each package is reached from the application, so that the bill shows why it is needed.
    const next = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const reached = new Set([bom.metadata.component['bom-ref']]);
    for (const ref of reached) for (const other of next.get(ref)!) reached.add(other);
    expect(reached.size).toBe(bom.components.length + 1);
  });
});

describe('licenses', () => {
  test('docs/licenses.md matches the lock file (npm run docs:licenses writes it)', async () => {
    const { licensesAsMarkdown } = await script<{ licensesAsMarkdown(): string }>('docs-licenses.mjs');
    expect(read('docs/licenses.md')).toBe(licensesAsMarkdown());
  });

  test('only allowed licenses occur, and in a release only those of the shorter list', async () => {
    const { ALLOWED, ALLOWED_FOR_TOOLS } = await script<{
      ALLOWED: Record<string, string>;
      ALLOWED_FOR_TOOLS: string[];
    }>('docs-licenses.mjs');
    const notAllowed = (entries: Iterable<Locked>, allowed: string[]) =>
      [...entries]
        .filter(({ license }) => !allowed.includes(license ?? 'none'))
        .map(({ id, license }) => [id, license]);
    expect(notAllowed(releasedPackages().values(), Object.keys(ALLOWED))).toEqual([]);
    // The optional dependencies are programs whose licenses npm does not know; docs/licenses.md describes them.
    const tools = [...locked.values()].filter(({ name }) => !(name in manifest.optionalDependencies));
    expect(notAllowed(tools, ALLOWED_FOR_TOOLS)).toEqual([]);
    expect([...Object.keys(ALLOWED), ...ALLOWED_FOR_TOOLS].join(' ')).not.toMatch(
      /GPL|SSPL|BUSL|Commons-Clause|UNLICENSED/i,
    );
  });
});

describe('dependencies', () => {
  test('docs/dependencies.md matches what is locked and installed (npm run docs:dependencies writes it)', async () => {
    const { dependenciesAsMarkdown } = await script<{ dependenciesAsMarkdown(): string }>(
      'docs-dependencies.mjs',
    );
    expect(read('docs/dependencies.md')).toBe(dependenciesAsMarkdown());
  });

  test('each direct dependency has a reason, and each reason has a dependency', async () => {
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

  test('each package with an install script is allowed or refused by name', () => {
    const withInstallScript = [...locked.values()].filter(({ hasInstallScript }) => hasInstallScript);
    expect(ids(withInstallScript).map((id) => id.slice(0, id.lastIndexOf('@')))).toEqual(
      Object.keys(manifest.allowScripts).toSorted(),
    );
  });
});
