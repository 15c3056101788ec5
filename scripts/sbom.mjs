// npm run --silent sbom [-- FILE]: writes the software bill of materials of a release, in CycloneDX. It reads only
// package.json, the lock file and the imports of the pages, so the bytes are the same on any machine and day.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command, ScriptError, root, step } from './prepare.mjs';
import { releasedPackages } from './shipped.mjs';

/** The property that says which part of the release contains a package: `service` or `pages`. */
const heldByProperty = ({ where }) => ({ name: 'mooring:held-by', value: where });
const compareBy = (key) => (a, b) => (a[key] < b[key] ? -1 : 1);

await command(async () => {
  const text = `${JSON.stringify(keepRelease(await listLockFile()), null, 2)}\n`;
  const [file] = process.argv.slice(2);
  if (file) writeFileSync(file, text);
  else process.stdout.write(text);
  return 0;
});

/**
 * Lists all packages of the lock file. `--omit dev` would also omit packages that both the service and a tool need, such as
 * pg-protocol.
 */
async function listLockFile() {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  // The flags override an environment for production, in which npm would list fewer packages.
  const everything = ['--include=dev', '--include=optional', '--include=peer', '--loglevel=error'];
  const { code, output } = await step('npm', [...args, ...everything], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (code !== 0) throw new ScriptError('npm sbom failed.');
  return JSON.parse(output);
}

/** Keeps the packages of a release, and removes the time, place and npm version of the listing. */
function keepRelease({ metadata, components, dependencies, ...bom }) {
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const released = releasedPackages();
  const self = { ...metadata.component, name };
  const isReleased = (ref) => ref === self['bom-ref'] || released.has(ref);
  const content = {
    metadata: { lifecycles: metadata.lifecycles, tools: [{ vendor: 'npm', name: 'cli' }], component: self },
    components: components
      .filter((component) => isReleased(component['bom-ref']))
      .map((component) => ({
        ...component,
        scope: 'required',
        properties: [heldByProperty(released.get(component['bom-ref']))],
      }))
      .toSorted(compareBy('bom-ref')),
    dependencies: dependencies
      .filter(({ ref }) => isReleased(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isReleased).toSorted() }))
      .toSorted(compareBy('ref')),
  };
  return { ...bom, serialNumber: serialNumber(content), ...content };
}

/** Derives the serial number from the content: a UUID of version 8, whose bits may be chosen freely. */
function serialNumber(content) {
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
  ];
  return `urn:uuid:${[...parts, digest.slice(20, 32)].join('-')}`;
}
