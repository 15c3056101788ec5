// Runs the PostgreSQL of a small Debian in a file tree, with the command, the environment and the SQL file that docker-compose.yml
// gives to the image postgres:18. The data directory is created as that image does it.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'yaml';
import { root, ScriptError } from '../prepare.mjs';
import { inTree, run } from './trees.mjs';

/** The password that .env gives to the role of the service. */
export const PASSWORD = 'a-password-for-this-test';
const CLUSTER = '/var/lib/postgresql/data';

/** The services of docker-compose.yml. */
export const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });

/** Starts PostgreSQL as its official image does: the cluster, the files of docker-entrypoint-initdb.d, and then the server. */
export async function startDatabase(tree) {
  const [binaries] = run('chroot', [tree, 'sh', '-c', 'echo /usr/lib/postgresql/*/bin']).trim().split(' ');
  const { environment, volumes, command: server } = services.postgres;
  const mounts = volumes
    .filter((volume) => volume.includes('/docker-entrypoint-initdb.d/'))
    .map((volume) => volume.split(':'))
    .map(([from, to]) => [join(root, from), `${to}:ro`]);
  const env = {
    POSTGRES_PASSWORD: environment.POSTGRES_PASSWORD.replace(/^\$\{.*\}$/, PASSWORD),
    PATH: `${binaries}:/usr/sbin:/usr/bin:/sbin:/bin`,
    PGDATA: CLUSTER,
  };
  const script = `set -e
    printf %s "$POSTGRES_PASSWORD" > /tmp/password
    initdb --username=postgres --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    pg_ctl --wait --options='-c listen_addresses= -c unix_socket_directories=/tmp' start > /dev/null
    for file in /docker-entrypoint-initdb.d/*; do
      psql --set=ON_ERROR_STOP=1 --no-psqlrc --host=/tmp --username=postgres --dbname=postgres --file="$file"
    done
    pg_ctl --wait stop`;
  const options = { user: 'postgres', env, mounts };
  run('unshare', inTree(tree, ['sh', '-c', script], options));
  const args = inTree(tree, [...server, '-c', 'unix_socket_directories=/tmp'], options);
  const child = spawn('unshare', args, { stdio: 'ignore' });
  while (spawnSync('chroot', [tree, 'pg_isready', '--quiet', '--host=127.0.0.1']).status !== 0) {
    if (child.exitCode !== null) throw new ScriptError('The database ended.');
    await pause(100);
  }
  return child;
}

/** Runs a statement in the database over TCP. @returns its result; undefined if psql fails, as when the connection is refused */
export function query(tree, role, statement) {
  const args = [tree, 'psql', `postgres://${role}:${PASSWORD}@127.0.0.1/mooring`, '-XtAc', statement];
  const { status, stdout } = spawnSync('chroot', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
