// npm run package [-- DIR]: makes mooring-VERSION.tar.gz, the archive that is installed in production, in DIR (by default the
// current folder). It has no compiler, test tool, browser, database or Node. The same sources give the same bytes on any machine
// with the same version of Node: the bundle contains the names that its `node:http` and `node:https` export (bundle.mjs), and its
// zlib compresses the archive.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { installedFile, packageFiles } from './package-files.mjs';
import {
  command,
  ensureBundled,
  ensureInstalled,
  ensureWebBuilt,
  node24,
  root,
  ScriptError,
  step,
} from './prepare.mjs';
import { ustar } from './ustar.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBundled();
  await ensureWebBuilt();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folder = `mooring-${version}`;
  const files = [...packageFiles(), installedFile('sbom.cdx.json', await billOfMaterials())];
  const archive = gzipSync(ustar(files.map((file) => ({ ...file, path: `${folder}/${file.path}` }))));
  // RFC 1952: the system is unknown. `gzipSync` names the one on which it runs.
  archive[9] = 255;
  const path = resolve(process.env.INIT_CWD ?? '.', process.argv[2] ?? '.', `${folder}.tar.gz`);
  writeFileSync(path, archive);
  const unpacked = files.reduce((sum, { content }) => sum + content.length, 0);
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  console.log(
    `${path}  ${megabytes(archive.length)}, unpacked ${megabytes(unpacked)} in ${files.length} files`,
  );
  console.log(`sha256 ${createHash('sha256').update(archive).digest('hex')}`);
  return 0;
});

async function billOfMaterials() {
  const { code, output } = await step(node24(), ['scripts/sbom.mjs'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (code !== 0) throw new ScriptError('The bill of materials could not be written.');
  return Buffer.from(output);
}
