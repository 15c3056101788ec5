// What a service's own process knows of its memory: node --expose-gc --import ./bench/load/heap.mjs dist/main.js. Asked over
// its channel, it answers after everything was let go that can be.
process.on('message', (message) => {
  if (message !== 'heap') return;
  globalThis.gc();
  const sockets = process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
  process.send({ heap: process.memoryUsage().heapUsed, sockets });
});
