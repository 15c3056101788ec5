import { createServer, type AddressInfo } from 'node:net';
import { addressOfHost } from '../../core/setting-values.js';
import { SettingsReader, type Environment } from '../../core/settings-reader.js';

const DEFAULT_PORT = 3000;
const MAX_ATTEMPTS = 100;

/**
 * Returns the environment with the port to use. A PORT of 0 is replaced by the number of a free port, because the default of
 * PUBLIC_URL contains the number. Unless NODE_ENV is `production`, a missing PORT becomes the first usable port from 3000 to 3099;
 * if there is none, it stays missing. Another PORT is not changed.
 */
export async function withFreePort(
  environment: Environment,
  isUsable: (port: number, host: string) => Promise<boolean> = isFree,
): Promise<Environment> {
  const { text } = new SettingsReader(environment);
  const [configuredPort, host] = [text('PORT'), addressOfHost(text('HOST'))];
  // If the address cannot be used, PORT stays 0: the check of HOST or the start then says so in a sentence.
  if (configuredPort === '0') return { ...environment, PORT: String(await freePort(0, host).catch(() => 0)) };
  if (configuredPort || text('NODE_ENV') === 'production') return environment;
  for (let port = DEFAULT_PORT; port < DEFAULT_PORT + MAX_ATTEMPTS; port += 1) {
    if (await isUsable(port, host)) return { ...environment, PORT: String(port) };
  }
  return environment;
}

/**
 * Whether a port is free at this moment. The links of development lead to `localhost`, for which programs try `::1` before
 * 127.0.0.1. A port of 127.0.0.1 must therefore be free at `::1` too. On a machine without IPv6 it is.
 */
export async function isFree(port: number, host: string): Promise<boolean> {
  const isUnused = (address: string) =>
    freePort(port, address).then(
      () => true,
      ({ code }: NodeJS.ErrnoException) => address !== host && code !== 'EADDRINUSE',
    );
  return (await isUnused(host)) && (host !== '127.0.0.1' || (await isUnused('::1')));
}

/**
 * Returns the port if it is free at this moment; for 0, any free port. Rejects if the port is in use.
 * @param reusePort whether to reject also if this system cannot share a port
 */
export function freePort(port: number, host: string, reusePort = false): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ port, host, reusePort }, () => {
      const { port: boundPort } = probe.address() as AddressInfo;
      probe.close(() => resolve(boundPort));
    });
  });
}
