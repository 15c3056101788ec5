// Reports the memory of a service from inside its process: node --expose-gc --import ./bench/load/heap.mjs dist-server/main.js.
// On the message `heap`, the process collects garbage and sends its heap size and its number of TCP sockets.
process.on('message', (message) => {
  if (message !== 'heap') return;
  globalThis.gc();
  const sockets = process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
  process.send({ heap: process.memoryUsage().heapUsed, sockets });
});
