import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliCompress, createGzip } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const inWeb = (path: string) => fileURLToPath(new URL(`web/${path}`, import.meta.url));
const COMPRESSED = /\.(html|js|css)$/;

const PAGES = ['support', 'portal', 'privacy'];

/**
 * Builds the three pages as static files in `web/dist`, and not in `dist`, because `nest build` empties that folder. Each page has
 * a build of its own and shares no file with another one: a shared file would contain what only the other page uses, and cost a
 * request and its headers.
 */
export default defineConfig({
  root: inWeb(''),
  // The pages refer to their files by relative URLs, because PUBLIC_URL may have a path.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [icon(), sections(), plainImports(), compress()],
  build: {
    outDir: inWeb('dist'),
    // Compressed, the portal is one percent smaller than with the default.
    minify: 'terser',
    terserOptions: { module: true, compress: { passes: 3 } },
    // All files are loaded from the service. A page has one script, so no page needs `modulepreload`.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  environments: Object.fromEntries(
    PAGES.map((page, index) => [
      page,
      {
        consumer: 'client',
        build: {
          // The first build removes the files of earlier ones.
          emptyOutDir: index === 0,
          // The licenses of the bundled packages must be published with them. The support page uses all of these packages.
          // The service serves this file at `/licenses.md`.
          license: page === 'support' && { fileName: 'licenses.md' },
          rolldownOptions: { input: { [page]: inWeb(`${page}/index.html`) } },
        },
      },
    ]),
  ),
  builder: {
    buildApp: async ({ environments, build }) => {
      for (const page of PAGES) await build(environments[page]!);
    },
  },
});

/** Writes the icon into the pages, because it is smaller than the headers of a response with it. */
function icon(): Plugin {
  return {
    name: 'icon',
    transformIndexHtml: {
      order: 'pre',
      handler: async (html) => {
        const svg = await readFile(inWeb('shared/page/icon.svg'), 'utf8');
        const text = svg.trim().replaceAll('"', "'").replaceAll(/\s+/g, ' ').replaceAll('#', '%23');
        return html.replaceAll('../shared/page/icon.svg', `data:image/svg+xml,${text}`);
      },
    },
  };
}

/**
 * Loads a section of a JSON file (`en.json?shared`), or writes sections to a file of their own and loads its URL
 * (`en.json?url=shared+portal`), so that a page receives no texts of other pages.
 */
function sections(): Plugin {
  return {
    name: 'sections',
    async load(id) {
      const [, file, isUrl, names] = /^(.+\.json)\?(url=)?([\w+]+)$/.exec(id) ?? [];
      if (!file || !names) return undefined;
      const texts = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
      const source = JSON.stringify(Object.fromEntries(names.split('+').map((name) => [name, texts[name]])));
      if (!isUrl) return `export default ${source};`;
      const asset = this.emitFile({ type: 'asset', name: 'en.json', source });
      return `export default import.meta.ROLLUP_FILE_URL_${asset};`;
    },
  };
}

/**
 * Leaves out what Vite adds to a dynamic import: code that also loads the style sheets of the imported script. What the
 * portal loads on demand has no style sheet of its own.
 */
function plainImports(): Plugin {
  return {
    name: 'plain-imports',
    applyToEnvironment: ({ name }) => name === 'portal',
    load: {
      order: 'pre',
      filter: { id: /vite\/preload-helper/ },
      handler: () => 'export const __vitePreload = (load) => load();',
    },
  };
}

/** Adds compressed copies of pages, scripts and style sheets, so that no request waits for the compression. */
function compress(): Plugin {
  return {
    name: 'compress',
    buildApp: { order: 'post', handler: () => compressFiles(inWeb('dist')) },
  };
}

async function compressFiles(folder: string): Promise<void> {
  for (const name of (await readdir(folder, { recursive: true })).filter((path) => COMPRESSED.test(path))) {
    const file = join(folder, name);
    await pipeline(createReadStream(file), createBrotliCompress(), createWriteStream(`${file}.br`));
    await pipeline(createReadStream(file), createGzip({ level: 9 }), createWriteStream(`${file}.gz`));
  }
}
