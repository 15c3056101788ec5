import { Config, ConfigError } from '../core/config.js';
import { withFreePort } from '../database/embedded/free-port.js';

// The settings are checked before the application is loaded, so that an invalid setting ends the start at once.
try {
  const config = new Config(await withFreePort(process.env));
  const { serve } = await import('./serve.js');
  serve(config);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
