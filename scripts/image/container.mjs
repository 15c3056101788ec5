// Runs the image and its database as docker-compose.yml says, in the network of this process, which has a loopback device only.
// image.mjs starts this file with the image, the file tree of PostgreSQL and a folder for the data as JSON.
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { command, ScriptError } from '../prepare.mjs';
import { PASSWORD, query, services, startDatabase } from './database.mjs';
import { endContainer, inTree, processOf, run } from './trees.mjs';

const SERVICE = 'http://127.0.0.1:3000';

await command(async () => {
  const { image, postgresTree, folder } = JSON.parse(process.argv[2]);
  run('chroot', [postgresTree, 'ip', 'link', 'set', 'lo', 'up']);
  const database = await startDatabase(postgresTree);
  try {
    await checkService(image, folder, postgresTree);
  } finally {
    await endContainer(database, 'SIGINT');
  }
  return 0;
});

/** Prints the result of a check. @throws ScriptError if it failed */
function check(what, isGood, detail = '') {
  if (!isGood) throw new ScriptError(`failed: ${what} ${detail}`.trim());
  console.log(`ok: ${what}`);
}

/** Follows the steps at the top of docker-compose.yml, starts the service, and checks what an operator relies on. */
async function checkService(image, folder, postgresTree) {
  const container = prepareContainer(image, folder);
  const startedAt = performance.now();
  const args = inTree(image.tree, image.command, container);
  const service = spawn('unshare', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    while (!(await isReady())) {
      if (service.exitCode !== null) throw new ScriptError(`The service ended with ${service.exitCode}.`);
      await pause(20);
    }
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    check(`/health/ready answers 200 after ${seconds} s, with all migrations of an empty database`, true);
    checkRights(image, container, postgresTree);
    await checkActivation(image, container);
    const status = readFileSync(`/proc/${processOf(service)}/status`, 'utf8');
    const mebibytes = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024);
    check(`the service uses ${mebibytes} MiB of memory`, mebibytes < 300);
    check('SIGTERM ends it with 0', (await endContainer(service, 'SIGTERM')) === 0);
  } finally {
    await endContainer(service, 'SIGKILL');
  }
}

function isReady() {
  return fetch(`${SERVICE}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Runs a command in the container of the service. */
function inside(image, container, ...args) {
  return spawnSync('unshare', inTree(image.tree, args, container), { encoding: 'utf8' });
}

function checkRights(image, container, postgresTree) {
  const shell = (script) => inside(image, container, 'sh', '-c', script);
  check(
    'the health check of the image succeeds',
    inside(image, container, ...image.healthCommand).status === 0,
  );
  check('the user is not root', shell('id -u').stdout === '1000\n');
  check('the user has no capability', /CapBnd:\t0+\n/.test(shell('cat /proc/self/status').stdout));
  check('nothing in the root can be written', shell('touch /app/x || touch /tmp/x || touch /x').status !== 0);
  check('/app/data belongs to the user', shell('touch data/x && rm data/x').status === 0);
  check('the token keys cannot be written', shell('touch "$TOKEN_KEYS_DIR/x"').status !== 0);
  const rights =
    'select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls from pg_roles where rolname = current_user';
  check("the service's role has no further right", query(postgresTree, 'mooring', rights) === 'f');
  const superuser = query(postgresTree, 'postgres', 'select 1');
  check('the superuser cannot connect over the network', superuser === undefined);
}

async function checkActivation(image, container) {
  const email = 'ada@example.com';
  const issued = inside(image, container, 'mooring', 'license', 'issue', '--email', email, '--json');
  check('the command line issues a license', issued.status === 0, issued.stderr);
  const { license_key } = JSON.parse(issued.stdout);
  const answer = await fetch(`${SERVICE}/v1/activate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ license_key, email, machine_id: 'a'.repeat(64), app_version: '1.0' }),
  });
  check('the service activates it', answer.status === 201, await answer.text());
}

/** Makes the secrets and folders of the first start. @returns the options of `inTree` for the service */
function prepareContainer(image, folder) {
  const owned = (name, mode, { uid, gid } = { uid: 1000, gid: 1000 }) => {
    mkdirSync(join(folder, name), { mode });
    chownSync(join(folder, name), uid, gid);
    return join(folder, name);
  };
  const secrets = owned('secrets', 0o700);
  owned('tombstones', 0o700);
  // A named volume begins with the owner and mode of the folder in the image.
  const { uid, gid, mode } = statSync(join(image.tree, image.directory, 'data'));
  owned('data', mode & 0o777, { uid, gid });
  writeFileSync(join(image.tree, 'etc/hosts'), '127.0.0.1 localhost postgres\n');
  const { user, directory } = image;
  const init = inTree(image.tree, ['mooring', 'init', '/secrets/mooring'], {
    user,
    directory,
    env: image.env,
    mounts: [[secrets, '/secrets']],
  });
  run('unshare', init);
  const file = join(folder, '.env');
  renameSync(join(secrets, 'mooring/mooring.env'), file);
  check('only its owner can read .env', (statSync(file).mode & 0o777) === 0o600);
  appendFileSync(
    file,
    `POSTGRES_PASSWORD=${PASSWORD}\nPUBLIC_URL=https://licensing.example.com\nPRODUCT=com.example.app\nMANIFEST_PUBLIC_KEYS=${'A'.repeat(43)}\n`,
  );
  const settings = parseEnv(readFileSync(file, 'utf8'));
  // As compose does: `${NAME:-default}` has a default, and `${NAME:?message}` is an error without a value.
  const fill = (value) =>
    value.replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name, kind, rest) => {
      if (settings[name]) return settings[name];
      if (kind === '?') throw new ScriptError(`${name}: ${rest}`);
      return rest;
    });
  const { environment, volumes, read_only: isReadOnly } = services.service;
  const filled = Object.entries(environment).map(([name, value]) => [name, fill(value)]);
  const mounts = volumes.map((volume) => {
    const [from, ...to] = volume.split(':');
    return [join(folder, from), to.join(':')];
  });
  return { user, directory, env: { ...image.env, ...Object.fromEntries(filled) }, isReadOnly, mounts };
}
