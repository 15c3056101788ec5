import type { ServerProcess } from '../processes/server-process.js';
import { query } from './replica-harness.js';

export interface SampleLicense {
  readonly license_key: string;
  readonly email: string;
}

/**
 * Starts a service until it has created all of its sample data. With the time limits of production a slow computer may prevent
 * that; the service then listens, but prints no license.
 */
export async function startWithSample(
  databaseUrl: string,
  start: () => Promise<ServerProcess>,
): Promise<SampleLicense> {
  for (;;) {
    const server = await start();
    // The welcome is complete when the service is ready.
    const [, license_key, email] = /Sample license +(\S+) +\((\S+)\)/.exec(server.stderr) ?? [];
    if (license_key && email) return { license_key, email };
    await server.end();
    // A start creates sample data only if there is no license.
    await query(databaseUrl, 'truncate license cascade');
  }
}
