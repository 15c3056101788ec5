import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A source of the hardware UUID of a platform: either the output of a command or the content of a file. */
interface Source {
  command?: [string, ...string[]];
  file?: string;
  pattern: RegExp;
}

const MACHINE_ID_FILE = /^([0-9a-f]{32})\s*$/;
const UUID = '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}';

const SOURCES: Partial<Record<string, Source[]>> = {
  darwin: [
    {
      command: ['/usr/sbin/ioreg', '-rd1', '-c', 'IOPlatformExpertDevice'],
      pattern: new RegExp(`"IOPlatformUUID" = "(${UUID})"`),
    },
  ],
  win32: [
    {
      // Windows looks for a program without a path in the current folder first.
      command: [
        '%SystemRoot%\\System32\\reg.exe',
        'query',
        'HKLM\\SOFTWARE\\Microsoft\\Cryptography',
        '/v',
        'MachineGuid',
        '/reg:64',
      ],
      pattern: new RegExp(`MachineGuid\\s+REG_SZ\\s+(${UUID})`),
    },
  ],
  // The UUID of the firmware is the last source, because only root can read it: an application that is started as root once
  // must keep its machine id.
  linux: [
    { file: '/etc/machine-id', pattern: MACHINE_ID_FILE },
    { file: '/var/lib/dbus/machine-id', pattern: MACHINE_ID_FILE },
    { file: '/sys/class/dmi/id/product_uuid', pattern: new RegExp(`^(${UUID})\\s*$`) },
  ],
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The system functions that reading the UUID needs; tests replace them. */
export interface Host {
  platform: string;
  run(command: string, args: string[]): Promise<string>;
  read(file: string): Promise<string>;
}

export const systemHost: Host = {
  platform: process.platform,
  run: async (command, args) =>
    (await promisify(execFile)(command, args, { timeout: 5_000, windowsHide: true })).stdout,
  read: (file) => readFile(file, 'utf8'),
};

/**
 * `machine_id`: the lower-case hex SHA-256 digest of the platform hardware UUID, exactly as the platform writes it.
 * The UUID itself never leaves this function, not even in an error (docs/clients.md#machine_id).
 */
export async function readMachineId(environment: Environment, host: Host = systemHost): Promise<string> {
  const systemRoot = environment['SystemRoot'] || 'C:\\Windows';
  const pathOf = (program: string) => program.replace('%SystemRoot%', () => systemRoot);
  for (const { command, file, pattern } of SOURCES[host.platform] ?? []) {
    try {
      const text = command ? await host.run(pathOf(command[0]), command.slice(1)) : await host.read(file!);
      const uuid = pattern.exec(text)?.[1];
      if (uuid) return createHash('sha256').update(uuid).digest('hex');
    } catch {
      // The next source is tried. The error of this one is dropped, because it could contain the UUID.
    }
  }
  throw new Error(`no hardware UUID can be read on this computer (${host.platform})`);
}

/** Calls `read`. @throws its error, or an Error if it returns anything but a digest, such as the UUID itself */
export async function checkedMachineId(read: () => Promise<string>): Promise<string> {
  const digest = await read();
  if (!/^[0-9a-fA-F]{64}$/.test(digest)) throw new Error('a machine id must be a SHA-256 digest in hex');
  return digest.toLowerCase();
}
