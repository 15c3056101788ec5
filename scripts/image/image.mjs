// npm run test:image: builds the file tree of the image as the Dockerfile says, without Docker, and runs it as docker-compose.yml
// says: as the user of the image, with a read-only root, and with a PostgreSQL that deploy/postgres.sql has prepared. It needs
// Linux, root, mmdebstrap and a mirror of Debian.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command, ensureInstalled, root, ScriptError } from '../prepare.mjs';
import { parseDockerfile } from './dockerfile.mjs';
import { buildImage, makeDebian, makeNodeImage, run } from './trees.mjs';

await command(async () => {
  await ensureInstalled();
  for (const [program, debianPackage] of Object.entries({ mmdebstrap: 'mmdebstrap', unshare: 'util-linux' }))
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
      throw new ScriptError(`npm run test:image needs ${program}: apt-get install ${debianPackage}`);
  if (process.getuid() !== 0)
    throw new ScriptError('npm run test:image must run as root, because it mounts file trees.');
  const folder = mkdtempSync(join(tmpdir(), 'mooring-image-'));
  try {
    const log = (line) => console.log(line);
    const base = join(folder, 'node');
    log('Making the base image and a PostgreSQL …');
    makeNodeImage(base);
    const postgresTree = join(folder, 'postgres');
    makeDebian(postgresTree, ['postgresql', 'iproute2']);
    const image = buildImage(
      parseDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8')),
      base,
      folder,
      log,
    );
    const kibibytes = (tree) => Number(run('du', ['-sk', tree]).split('\t')[0]);
    log(
      `ok: the image adds ${Math.round((kibibytes(image.tree) - kibibytes(base)) / 1024)} MiB to its base image`,
    );
    const container = fileURLToPath(new URL('container.mjs', import.meta.url));
    const args = [
      '--net',
      '--',
      process.execPath,
      container,
      JSON.stringify({ image, postgresTree, folder }),
    ];
    const { status } = spawnSync('unshare', args, { cwd: root, stdio: 'inherit' });
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
