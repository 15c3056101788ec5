import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const globals = new URL('./globals.mjs', import.meta.url).href;

/** Options with which decorators and their metadata are compiled as in the build, as dependency injection requires. */
const OPTIONS = {
  swcrc: false,
  configFile: false,
  sourceMaps: 'inline',
  module: { type: 'es6' },
  jsc: {
    target: 'es2024',
    parser: { syntax: 'typescript', decorators: true },
    experimental: { keepImportAttributes: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
  },
};

/** Makes Node load TypeScript whose imports end in `.js`, and replace `@jest/globals` by globals.mjs. */
export function registerModuleHooks() {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@jest/globals') return { url: globals, shortCircuit: true };
      // Some tests load a module anew, with a query in its address.
      if (/^\.{1,2}\/.*\.js$/.test(specifier) && /\.ts(\?|$)/.test(context.parentURL ?? '')) {
        const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
        if (existsSync(source)) return { url: source.href, shortCircuit: true };
      }
      return next(specifier, context);
    },
    load(url, context, next) {
      const { protocol, pathname } = new URL(url);
      if (protocol !== 'file:' || !pathname.endsWith('.ts')) return next(url, context);
      const filename = fileURLToPath(new URL(pathname, url));
      const { code } = transformSync(readFileSync(filename, 'utf8'), { ...OPTIONS, filename });
      return { format: 'module', source: code, shortCircuit: true };
    },
  });
}
