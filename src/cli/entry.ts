import { endOnProcessEvents } from './process-events.js';
import { run } from './program.js';

endOnProcessEvents(async (error) => {
  // The logger is loaded on demand, because commands without a database do not need it.
  const { errorFields } = await import('../core/logger.js');
  process.stderr.write(`${JSON.stringify({ msg: 'uncaught error', ...errorFields(error) })}\n`);
});

process.exitCode = await run(process.argv.slice(2));
