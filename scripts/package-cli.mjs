// npm run package:cli: makes the command line for publishers, one file that needs only Node (docs/operations/publisher-cli.md).
// An argument names another folder than dist-cli/.
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { command, ensureInstalled, node24, root, step } from './prepare.mjs';

const FILE = 'mooring.cjs';
const OLDEST_NODE = 24;

// This is the first statement of the file, so an older Node prints the sentence in place of an error about what it lacks. The rest
// of the file must be syntax that such a Node can parse: the build has the target ES2022.
const GUARD = `#!/usr/bin/env node
if (parseInt(process.versions.node, 10) < ${OLDEST_NODE}) {
  process.stderr.write('Mooring needs Node ${OLDEST_NODE} or newer, and this is Node ' + process.versions.node + '.\\n');
  process.exit(2);
}
`;

await command(async () => {
  await ensureInstalled();
  // npm may run this script on an older Node than the bundler needs.
  if (parseInt(process.versions.node, 10) < OLDEST_NODE)
    return (await step(node24(), [process.argv[1], ...process.argv.slice(2)])).code;
  const folder = resolve(process.env.INIT_CWD ?? '.', process.argv[2] ?? join(root, 'dist-cli'));
  const { code, modules } = await bundle();
  const file = join(folder, FILE);
  await mkdir(folder, { recursive: true });
  const program = GUARD + code + licensesOf(modules);
  await writeFile(file, program);
  await chmod(file, 0o755);
  console.log(
    `${file} has ${Math.round(Buffer.byteLength(program) / 1024)} KiB. It needs only Node ${OLDEST_NODE}.`,
  );
  return 0;
});

/** Bundles src/cli/publisher.ts with all packages that it uses. @returns the code, and the paths of the modules in it */
async function bundle() {
  const { build } = await import('vite');
  const { output } = await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins: [publisherModules()],
    ssr: { noExternal: true },
    build: {
      ssr: join(root, 'src/cli/publisher.ts'),
      write: false,
      target: 'es2022',
      // People who sign releases with the file can read it.
      minify: false,
      rolldownOptions: {
        // CommonJS: an ES module would be linked before the guard runs, and an older Node would report a missing export.
        output: { format: 'cjs', codeSplitting: false },
        // The modules of packages only define functions and classes.
        treeshake: { moduleSideEffects: (id) => !id.includes('node_modules') },
      },
    },
  });
  const [{ code, modules }] = output;
  const used = Object.keys(modules).filter((id) => modules[id].renderedLength > 0);
  return { code, modules: used };
}

/** Replaces the modules that open a database, and the one that reads package.json. */
function publisherModules() {
  const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
  return {
    name: 'publisher-modules',
    enforce: 'pre',
    resolveId: (id) =>
      /\/(command-context|has-database)\.js$/.test(id)
        ? join(root, 'src/cli/context/without-database.ts')
        : undefined,
    load: (id) =>
      id.endsWith('/core/package-version.ts')
        ? `export const packageVersion = () => ${JSON.stringify(version)};`
        : undefined,
  };
}

/** Returns the licenses of the packages in the file, as comments: they must be given with each copy. */
function licensesOf(modules) {
  const folders = new Set(
    modules
      .map((id) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(root, id))?.[0])
      .filter((folder) => folder !== undefined),
  );
  return [...folders].map(licenseOf).join('');
}

function licenseOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt']
    .map((each) => join(root, folder, each))
    .find(existsSync);
  if (!file) throw new Error(`${name} has no file with its license.`);
  const lines = `${name} ${version}\n\n${readFileSync(file, 'utf8').trim()}`.split('\n');
  return `\n${lines.map((line) => `// ${line}`.trimEnd()).join('\n')}\n`;
}
