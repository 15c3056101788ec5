import { createReadStream, createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliCompress, createGzip } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const inWeb = (path: string) => fileURLToPath(new URL(`web/${path}`, import.meta.url));
const COMPRESSED = /\.(js|css|svg)$/;

/** The three pages, as static files in `web/dist`: beside the sources, because `nest build` empties its own folder. */
export default defineConfig({
  root: inWeb(''),
  // Addresses relative to the page: the service may stand below any path of PUBLIC_URL.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [compress()],
  build: {
    outDir: inWeb('dist'),
    emptyOutDir: true,
    // What the content security policy asks: nothing inline, no script but our own files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The licenses of what is bundled ask to go with it; beside the pages, where anyone may read them.
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      input: {
        portal: inWeb('portal/index.html'),
        support: inWeb('support/index.html'),
        privacy: inWeb('privacy/index.html'),
      },
    },
  },
});

/** Lays each file down compressed as well, so that no request waits for that. */
function compress(): Plugin {
  return {
    name: 'compress',
    async closeBundle() {
      const assets = inWeb('dist/assets');
      for (const name of (await readdir(assets)).filter((file) => COMPRESSED.test(file))) {
        const file = join(assets, name);
        await pipeline(createReadStream(file), createBrotliCompress(), createWriteStream(`${file}.br`));
        await pipeline(createReadStream(file), createGzip({ level: 9 }), createWriteStream(`${file}.gz`));
      }
    },
  };
}
