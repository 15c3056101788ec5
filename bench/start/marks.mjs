// Reports the steps of a start from inside the service: node --import ./bench/start/marks.mjs dist-server/main.js. On the message
// `marks` the process sends when Node had booted and when src/server/serve.ts ended each step, in milliseconds since its start.
const boot = performance.now();
process.on('message', (message) => {
  if (message !== 'marks') return;
  const steps = performance.getEntriesByType('mark').map(({ name, startTime }) => [name, startTime]);
  process.send({ boot, ...Object.fromEntries(steps) });
});
