import { ConfigError, type Config } from '../core/config.js';

/**
 * The error of a start whose HOST is no address of this machine, or a name while no name server answers. At boot, the machine may
 * get the address or the name server later.
 */
export class AddressUnavailable extends Error {}

const MAY_CHANGE = ['EADDRNOTAVAIL', 'EAI_AGAIN'];

type Address = Pick<Config, 'host' | 'port' | 'isPortShared'>;

/** Returns the error of a start that could not listen; the same error if it is not one of the system. */
export function listenError(address: Address, error: unknown, setting?: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const failure = listenFailure(address, code, setting);
  return MAY_CHANGE.includes(code) ? new AddressUnavailable(failure) : new ConfigError(failure);
}

/** Returns the sentence about a start that could not listen. @param code of the error of the system */
export function listenFailure(
  { host, port, isPortShared }: Address,
  code: string | undefined,
  setting = 'PORT',
): string {
  const failure = `Mooring cannot listen on HOST ${host}, ${setting} ${port} (${code})`;
  if (isPortShared && code === 'EADDRINUSE')
    return `${failure}: the program that uses the port does not share it. If it is an instance of Mooring, restart it with REUSE_PORT=true.`;
  // The code of libuv on systems whose kernel does not distribute connections, such as macOS and Windows.
  if (isPortShared && code === 'ENOTSUP')
    return `${failure}: this system cannot share a port, so REUSE_PORT must be false.`;
  if (code === 'EADDRINUSE') return `${failure}: another program uses the port; set another ${setting}.`;
  return `${failure}.`;
}
