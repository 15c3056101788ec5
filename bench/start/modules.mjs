// Reports the loaded modules: node --import ./bench/start/modules.mjs dist/main.js. On the message `modules` the process sends the
// number of modules and the bytes of their sources, by package.
import { registerHooks } from 'node:module';

const packages = {};
registerHooks({
  load(url, context, nextLoad) {
    const result = nextLoad(url, context);
    const [, name = url.startsWith('node:') ? 'Node' : 'Mooring'] =
      /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    const entry = (packages[name] ??= { modules: 0, bytes: 0 });
    entry.modules += 1;
    entry.bytes += Buffer.byteLength(result.source ?? '');
    return result;
  },
});
process.on('message', (message) => message === 'modules' && process.send(packages));
