// npm run --silent sbom [-- FILE]: the software bill of materials of a release, in CycloneDX, from the lock file alone.
// The same lock file gives the same bytes, on any machine and day.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command, Fault, root, step } from './prepare.mjs';
import { shipped } from './shipped.mjs';

const heldBy = ({ where }) => ({ name: 'mooring:held-by', value: where });
const by = (key) => (a, b) => (a[key] < b[key] ? -1 : 1);

await command(async () => {
  const text = `${JSON.stringify(ofRelease(await ofLockFile()), null, 2)}\n`;
  const [file] = process.argv.slice(2);
  if (file) writeFileSync(file, text);
  else process.stdout.write(text);
  return 0;
});

/** Of all that the lock file names. Not `--omit dev`: npm then leaves out whatever a tool needs as well, such as pg-protocol. */
async function ofLockFile() {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  // An installation for production is set in the environment, and would list less.
  const whole = ['--include=dev', '--include=optional', '--include=peer', '--loglevel=error'];
  const { code, output } = await step('npm', [...args, ...whole], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (code !== 0) throw new Fault('npm sbom failed.');
  return JSON.parse(output);
}

/** The part of it that a release holds, without what tells when, where and by which npm it was written. */
function ofRelease({ metadata, components, dependencies, ...bom }) {
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const kept = shipped();
  const self = { ...metadata.component, name };
  const stays = (ref) => ref === self['bom-ref'] || kept.has(ref);
  const content = {
    metadata: { lifecycles: metadata.lifecycles, tools: [{ vendor: 'npm', name: 'cli' }], component: self },
    components: components
      .filter((component) => stays(component['bom-ref']))
      .map((component) => ({
        ...component,
        scope: 'required',
        properties: [heldBy(kept.get(component['bom-ref']))],
      }))
      .toSorted(by('bom-ref')),
    dependencies: dependencies
      .filter(({ ref }) => stays(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(stays).toSorted() }))
      .toSorted(by('ref')),
  };
  return { ...bom, serialNumber: serialNumber(content), ...content };
}

/** Of what is listed, and of nothing else: a UUID of version 8, whose bits are ours to choose. */
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
