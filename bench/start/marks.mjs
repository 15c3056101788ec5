// Reports the steps of a start from inside the service: node --import ./bench/start/marks.mjs dist-server/main.js. On the message
// `marks` the process sends the times, in milliseconds since its start, at which Node had booted and src/server/serve.ts had ended
// each step.
const boot = performance.now();
process.on('message', (message) => {
  if (message !== 'marks') return;
  const steps = performance.getEntriesByType('mark').map(({ name, startTime }) => [name, startTime]);
  process.send({ boot, ...Object.fromEntries(steps) });
});
