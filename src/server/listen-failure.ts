import type { Config } from '../core/config.js';

/** The error of a start whose HOST is no address of this machine. At boot, the machine may get the address later. */
export class AddressUnavailable extends Error {}

/** Returns the sentence about a start that could not listen. @param code of the error of the system */
export function listenFailure(
  { host, port, isPortShared }: Pick<Config, 'host' | 'port' | 'isPortShared'>,
  code: string | undefined,
): string {
  const failure = `Mooring cannot listen on HOST ${host}, PORT ${port} (${code})`;
  if (isPortShared && code === 'EADDRINUSE')
    return `${failure}: the program that uses the port does not share it; an instance needs REUSE_PORT=true from its start.`;
  // The code of libuv on systems whose kernel does not distribute connections, such as macOS and Windows.
  if (isPortShared && code === 'ENOTSUP')
    return `${failure}: this system cannot share a port, so REUSE_PORT must be false.`;
  return `${failure}.`;
}
