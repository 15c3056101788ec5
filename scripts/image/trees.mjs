// Builds the file trees of images without Docker: the base image by mmdebstrap, the rest as the Dockerfile says, each command in a
// chroot with its own mounts and processes.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { node24, root, ScriptError } from '../prepare.mjs';
import { buildContext, parseCopy } from './dockerfile.mjs';

/** The release of Debian on which the image `node:24-slim` is based. */
const DEBIAN = 'bookworm';

/** Runs a program to its end. @returns its standard output @throws ScriptError if it fails */
export function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 26,
    ...options,
  });
  if (status === 0) return stdout;
  const reason = error?.message ?? `${stdout}${stderr}`.trim().slice(-2_000);
  throw new ScriptError(`${[program, ...args].join(' ').slice(0, 300)} failed: ${reason}`);
}

/** Makes a small Debian with these packages. It is deleted soon, so dpkg need not wait for the disk. */
export function makeDebian(tree, packages) {
  run('mmdebstrap', [
    '--dpkgopt=force-unsafe-io',
    '--variant=minbase',
    `--include=${packages.join(',')}`,
    '--mode=root',
    DEBIAN,
    tree,
  ]);
}

/** Makes what this repository uses of the image `node:24-slim`: a small Debian, the user `node`, Node and npm. */
export function makeNodeImage(tree) {
  makeDebian(tree, ['ca-certificates']);
  run('chroot', [
    tree,
    'useradd',
    '--create-home',
    '--uid=1000',
    '--user-group',
    '--shell=/bin/bash',
    'node',
  ]);
  cpSync(node24(), join(tree, 'usr/local/bin/node'), { dereference: true });
  const npm = dirname(dirname(realpathSync(run('sh', ['-c', 'command -v npm']).trim())));
  cpSync(npm, join(tree, 'usr/local/lib/node_modules/npm'), { recursive: true });
  run('chroot', [tree, 'ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm']);
}

/**
 * Returns the arguments of `unshare` for a command in a tree: its own processes, /proc and /dev, and with `isReadOnly` a root that
 * can be written only in the mounted folders.
 * @param mounts pairs of a folder or file and its path in the tree; a path that ends in `:ro` cannot be written
 */
export function inTree(
  tree,
  command,
  { user = 'root', directory = '/', env = {}, isReadOnly = false, mounts = [] } = {},
) {
  const script = [
    'set -e',
    // The tree becomes a mount of its own, so that it can be made read-only.
    'mount --bind "$TREE" "$TREE"',
    ...mounts.map(([from, to]) => {
      const path = `"$TREE"'${to.replace(/:ro$/, '')}'`;
      const readOnly = to.endsWith(':ro') ? `; mount -o remount,ro,bind ${path}` : '';
      const make = `if [ -d '${from}' ]; then mkdir -p ${path}; else mkdir -p "$(dirname ${path})"; touch ${path}; fi`;
      return `${make}; mount --bind '${from}' ${path}${readOnly}`;
    }),
    'mount -t proc proc "$TREE/proc"',
    'mount -t tmpfs -o mode=755 tmpfs "$TREE/dev"',
    'for name in null zero urandom random; do touch "$TREE/dev/$name"; mount --bind "/dev/$name" "$TREE/dev/$name"; done',
    ...(isReadOnly ? ['mount -o remount,ro,bind "$TREE"'] : []),
    // As in compose, a user other than root has no capability, and cannot get one from a program.
    `exec chroot "$TREE" setpriv ${user === 'root' ? '' : `--reuid=${user} --regid=${user} --init-groups --bounding-set=-all --no-new-privs `}-- /bin/sh -c 'cd "$0" && exec "$@"' '${directory}' "$@"`,
  ];
  const variables = Object.entries({
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    TREE: tree,
    ...env,
  });
  const isolation = ['--mount', '--pid', '--fork', '--kill-child', '--', 'env', '-i'];
  const environment = variables.map(([name, value]) => `${name}=${value}`);
  return [...isolation, ...environment, '/bin/sh', '-c', script.join('\n'), 'sh', ...command];
}

/** The process of a container: the only child of `unshare`; undefined if it has ended. */
export const processOf = ({ pid }) => {
  const children = `/proc/${pid}/task/${pid}/children`;
  return existsSync(children) ? Number(readFileSync(children, 'utf8').trim()) || undefined : undefined;
};

/** Sends a signal to the process of a container, unless it has ended. @returns its exit code */
export async function endContainer(child, signal) {
  const pid = processOf(child);
  if (pid === undefined) return child.exitCode;
  const ended = once(child, 'exit');
  process.kill(pid, signal);
  const [code] = await ended;
  return code;
}

/** Gives a tree what npm needs to reach its registry, as on this machine. @returns the environment variables for npm */
function networkOf(tree) {
  cpSync('/etc/resolv.conf', join(tree, 'etc/resolv.conf'), { dereference: true });
  const env = { npm_config_registry: run('npm', ['config', 'get', 'registry'], { cwd: root }).trim() };
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  if (authorities) {
    cpSync(authorities, join(tree, 'etc/extra-authorities.pem'), { dereference: true });
    env.NODE_EXTRA_CA_CERTS = '/etc/extra-authorities.pem';
  }
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy'])
    if (process.env[name]) env[name] = process.env[name];
  return env;
}

/**
 * Builds the stages of a Dockerfile in folders.
 * @param base the tree of the base image, of which each stage gets a copy
 * @returns the last stage: its `tree`, and `user`, `directory`, `env`, `command` and `healthCommand` of a container
 */
export function buildImage(stages, base, folder, log) {
  const trees = new Map();
  const isInContext = buildContext(readFileSync(join(root, '.dockerignore'), 'utf8'));
  let image;
  for (const [index, { name, steps }] of stages.entries()) {
    const tree = join(folder, `stage-${index}`);
    run('cp', ['--archive', '--reflink=auto', base, tree]);
    trees.set(name ?? String(index), tree);
    image = { tree, user: 'root', directory: '/', env: {}, command: [], healthCommand: [] };
    for (const { instruction, value } of steps) {
      log(`${instruction} ${value.slice(0, 100)}`);
      INSTRUCTIONS[instruction](image, value, { trees, isInContext });
    }
  }
  return image;
}

const INSTRUCTIONS = {
  CMD: (image, value) => (image.command = JSON.parse(value)),
  COPY: (image, value, { trees, isInContext }) => {
    const { stage, sources, target } = parseCopy(value);
    const to = join(image.tree, resolve(image.directory, target));
    for (const source of sources) {
      const from = stage ? join(trees.get(stage), source) : join(root, source);
      // The contents of a folder are copied, not the folder itself. A file gets its own name in a target that ends in a slash.
      if (!existsSync(from)) throw new ScriptError(`${from} does not exist.`);
      const isFolder = statSync(from).isDirectory();
      const into = isFolder || !target.endsWith('/') ? to : join(to, source.split('/').at(-1));
      const isCopied = (path) =>
        stage !== undefined || isInContext(path.slice(root.length).replace(/^\/|\/$/g, ''));
      if (!isCopied(from)) throw new ScriptError(`.dockerignore leaves ${source} out of the build context.`);
      mkdirSync(dirname(into), { recursive: true });
      cpSync(from, into, { recursive: true, filter: isCopied, preserveTimestamps: true });
    }
  },
  ENV: (image, value) => {
    for (const each of value.split(/ +/)) {
      const [name, text] = each.split('=');
      image.env[name] = text;
    }
  },
  EXPOSE: () => {},
  HEALTHCHECK: (image, value) => (image.healthCommand = JSON.parse(/CMD (\[.+\])$/.exec(value)[1])),
  RUN: ({ tree, user, directory, env }, value) => {
    const network = networkOf(tree);
    const command = ['/bin/sh', '-c', value];
    run('unshare', inTree(tree, command, { user, directory, env: { HOME: '/root', ...env, ...network } }));
  },
  USER: (image, value) => (image.user = value),
  WORKDIR: (image, value) => {
    image.directory = value;
    mkdirSync(join(image.tree, value), { recursive: true });
  },
};
