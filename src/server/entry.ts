import { Config, ConfigError } from '../core/config.js';
import { printSentence } from '../core/journal.js';
import { withFreePort } from '../database/embedded/free-port.js';

// The settings are checked before the application is loaded, so that an invalid setting ends the start at once. `withFreePort` sets
// PORT, the port of the HTTP service, if it is 0, or missing outside production.
try {
  const config = new Config(await withFreePort(process.env));
  const { serve } = await import('./serve.js');
  serve(config);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  printSentence(error.message, 'error');
  process.exitCode = 2;
}
