// Imports the modules of its arguments, reports its resident memory over IPC, and runs until it is ended. It shows what Node and
// packages take without the service.
import { memoryParts } from './memory.mjs';

for (const name of process.argv.slice(2)) await import(name);
const loadedMs = performance.now();
setTimeout(() => process.send({ loadedMs, ...memoryParts(process.pid) }), 1_000);
process.on('disconnect', () => process.exit(0));
