// Bundles the built service and its command line: node scripts/bundle.mjs, into dist-server/, which the archive has as dist/
// (docs/decisions/0057-one-bundle-in-production.md). A checkout runs the modules of dist/, except in a run of all tests and
// in most benches. A bench bundles another program in the same way: node scripts/bundle.mjs TARGET FILE.
import { cpSync, existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { basename, join, relative } from 'node:path';
import { build } from 'vite';
import { BUNDLE, command, root } from './prepare.mjs';

const BUILT = join(root, 'dist/');
const [TARGET = join(root, BUNDLE), PROGRAM] = process.argv.slice(2);

/** The programs, and modules that are files of their own, so that a test can change the limits in them before a service starts. */
const INPUTS = [
  'main',
  'cli',
  'cli/program',
  'cli/context/response-timeouts',
  'database/request-timeouts',
  'events/outgoing-event',
  'http/limits/load-limits',
];
const FILES = PROGRAM
  ? [[basename(PROGRAM, '.mjs'), PROGRAM]]
  : INPUTS.map((name) => [name, join(BUILT, `${name}.js`)]);

/** A driver of TypeORM for another database. DriverFactory imports all of them, and uses the one for PostgreSQL. */
const OTHER_DRIVER =
  /\/typeorm\/(?:driver\/(?!postgres\/|types\/)[\w-]+\/|(?:entity-manager|repository)\/Mongo)/;

/** Modules of packages that no code of the service uses, and what replaces them. */
const REPLACED = [
  // TypeORM's own modules only refer to these classes. One that is used after all fails with a sentence.
  [
    OTHER_DRIVER,
    `module.exports = new Proxy({}, { get: (_, name) => name === '__esModule' || class {
       constructor() { throw new Error('The bundle has no ' + String(name) + '.'); }
     } });`,
  ],
  // Fastify loads these two only if its option `schemaController` lacks them (src/http/create-app.ts).
  [/\/@fastify\/(?:ajv|fast-json-stringify)-compiler\//, 'module.exports = undefined;'],
  // graphile-worker searches the working directory and its parents for settings as soon as it is loaded. Its settings are in code.
  [/\/cosmiconfig\//, `exports.cosmiconfigSync = () => ({ search: () => null });`],
];

await command(async () => {
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    publicDir: false,
    plugins: [ownModules(), packageModules(), builtinModules(), asciiOnly()],
    ssr: { noExternal: true },
    resolve: {
      // Packages are resolved as by Node. Vite would prefer copies for bundlers, which are not tested with the service.
      mainFields: [],
      conditions: ['node'],
    },
    build: {
      ssr: true,
      outDir: TARGET,
      emptyOutDir: true,
      target: 'node24',
      sourcemap: true,
      // The licenses of the packages must be given with each copy.
      license: { fileName: 'licenses.md' },
      // A stack trace has the names of functions, and the lines of packages can be read.
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(FILES),
        // Optional packages that production does not install. They fail when they are loaded, as without the bundle.
        external: ['typescript', 'class-transformer', 'class-validator'],
        treeshake: {
          moduleSideEffects: (id) => !id.includes('/node_modules/') || id.includes('/reflect-metadata/'),
        },
        output: {
          format: 'esm',
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
          // TypeORM, Nest and the log use the names of classes.
          keepNames: true,
          // Modules run in the order of their imports, as without the bundle: first of all reflect-metadata.
          strictExecutionOrder: true,
          sourcemapExcludeSources: true,
          comments: false,
        },
      },
    },
  });
  if (PROGRAM) return 0;
  // Translators copy these files (docs/operations/languages.md). The service has them in its code.
  cpSync(join(BUILT, 'languages'), join(TARGET, 'languages'), {
    recursive: true,
    filter: (path) => !/\.js(\.map)?$/.test(path),
  });
  return 0;
});

/**
 * Loads the modules of the service with their source maps. `import.meta.url` keeps leading to the place of each module, because
 * modules find files relative to it.
 */
function ownModules() {
  return {
    name: 'own-modules',
    load(id) {
      if (!id.startsWith(BUILT) || !existsSync(`${id}.map`)) return undefined;
      const place = `new URL('./${relative(BUILT, id)}', import.meta.url)`;
      const code = readFileSync(id, 'utf8').replaceAll('import.meta.url', place);
      return { code, map: readFileSync(`${id}.map`, 'utf8') };
    },
  };
}

/** Replaces modules, and makes the `require` of an ES module visible to the bundler. */
function packageModules() {
  return {
    name: 'package-modules',
    enforce: 'pre',
    load: (id) => REPLACED.find(([pattern]) => id.includes('/node_modules/') && pattern.test(id))?.[1],
    transform(code, id) {
      if (!id.includes('/node_modules/')) return undefined;
      const bundled = code.replace('const require = createRequire(import.meta.url);', '');
      // Only the lines of the service are mapped to its sources; a map of all packages takes several megabytes.
      return { code: bundled, map: { version: 3, sources: [], names: [], mappings: '' } };
    },
  };
}

/**
 * An import of `node:http` reads all its properties. Some of these load Node's fetch and WebSocket, which take 1.5 MiB and a
 * twentieth of the start. So `node:http` and `node:https` are loaded without an import, with only their properties that are values.
 */
function builtinModules() {
  const namesOf = (module) =>
    Object.entries(Object.getOwnPropertyDescriptors(module))
      .filter(([, { value }]) => value !== undefined)
      .map(([name]) => name);
  const modules = { http: namesOf(http), https: namesOf(https) };
  return {
    name: 'builtin-modules',
    enforce: 'pre',
    resolveId: (id) => (/^(node:)?https?$/.test(id) ? `\0${id.replace('node:', '')}` : undefined),
    load(id) {
      const names = modules[id.slice(1)];
      if (!id.startsWith('\0') || !names) return undefined;
      return `const builtin = process.getBuiltinModule('${id.slice(1)}');
        export default builtin;
        export const { ${names.join(', ')} } = builtin;`;
    },
  };
}

/** Writes non-ASCII characters as escapes. One of them could make V8 store the whole file with two bytes for each character. */
function asciiOnly() {
  const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'ascii-only',
    // The bundler has printed the code for the last time before this. The lines stay the same, so the map remains valid.
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle).filter(({ type }) => type === 'chunk'))
        chunk.code = chunk.code.replaceAll(/[^\0-\x7f]/g, escape);
    },
  };
}
