// Runs one of the servers that the service is compared with; its argument is the file, such as plain.mjs. bench/load/processes.mjs
// starts it with an IPC channel, and it ends with the process that started it. It imports the rules of the service from the build,
// and compiles TypeScript of this folder as it is loaded.
import 'reflect-metadata';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformFileSync } from '@swc/core';

const SWC = {
  swcrc: false,
  sourceMaps: 'inline',
  jsc: {
    target: 'es2024',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
  },
};

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier.replace(/^(\.\.\/)+src\//, '../../../dist/'), context),
  load(url, context, next) {
    if (!url.endsWith('.ts')) return next(url, context);
    const { code } = transformFileSync(fileURLToPath(url), SWC);
    return { format: 'module', source: code, shortCircuit: true };
  },
});

process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));

const { listen } = await import(`./${process.argv[2]}`);
process.send({ port: await listen() });
