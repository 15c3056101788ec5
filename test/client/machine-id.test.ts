import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { checkedMachineId, readMachineId, systemHost, type Host } from '../../client/src/machine-id.js';

const UUID = '8F0C2A11-3B5D-4E7F-9A1B-2C3D4E5F6071';
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** Makes a host whose commands and files have these texts. */
function host(platform: string, answers: Record<string, string>): Host {
  const read = async (name: string) => {
    const answer = answers[name];
    if (answer === undefined) throw new Error(`cannot read ${name}: ${UUID}`);
    return answer;
  };
  return { platform, run: (command, args) => read([command, ...args].join(' ')), read };
}

describe('the machine id', () => {
  test('is the lower-case hex SHA-256 digest of IOPlatformUUID on macOS', async () => {
    const mac = host('darwin', {
      '/usr/sbin/ioreg -rd1 -c IOPlatformExpertDevice': `  "IOPlatformSerialNumber" = "C02"\n  "IOPlatformUUID" = "${UUID}"\n`,
    });
    expect(await readMachineId({}, mac)).toBe(digestOf(UUID));
  });

  test.each([
    [{ SystemRoot: 'D:\\Windows' }, 'D:\\Windows'],
    [{}, 'C:\\Windows'],
    [{ SystemRoot: '' }, 'C:\\Windows'],
  ])(
    'is the digest of MachineGuid on Windows, read by the program of the system: %j',
    async (environment, root) => {
      const windows = host('win32', {
        [`${root}\\System32\\reg.exe query HKLM\\SOFTWARE\\Microsoft\\Cryptography /v MachineGuid /reg:64`]: `\r\nHKEY_LOCAL_MACHINE\\SOFTWARE\r\n    MachineGuid    REG_SZ    ${UUID}\r\n`,
      });
      expect(await readMachineId(environment, windows)).toBe(digestOf(UUID));
    },
  );

  test('is the digest of /etc/machine-id on Linux, also for root, who could read the firmware', async () => {
    const id = '0123456789abcdef0123456789abcdef';
    const linux = host('linux', {
      '/etc/machine-id': `${id}\n`,
      '/sys/class/dmi/id/product_uuid': `${UUID}\n`,
    });
    expect(await readMachineId({}, linux)).toBe(digestOf(id));
  });

  test('on Linux is read from /etc/machine-id only if the file has exactly 32 hexadecimal digits, with or without a line end', async () => {
    const id = '0123456789abcdef0123456789abcdef';
    const read = (text: string) =>
      readMachineId({}, host('linux', { '/etc/machine-id': text, '/sys/class/dmi/id/product_uuid': UUID }));
    for (const text of [id, `${id}\n`, `${id}\r\n`]) expect(await read(text)).toBe(digestOf(id));
    for (const text of [`0${id}`, `${id}0`, `x ${id}`, `${id} x`])
      expect(await read(text)).toBe(digestOf(UUID));
  });

  test('is read from the firmware if /etc/machine-id was never filled in', async () => {
    const linux = host('linux', {
      '/etc/machine-id': 'uninitialized\n',
      '/sys/class/dmi/id/product_uuid': UUID,
    });
    expect(await readMachineId({}, linux)).toBe(digestOf(UUID));
  });

  test('is read from the text of a file or from the output of a command', async () => {
    const file = import.meta.filename;
    expect(await systemHost.read(file)).toBe((await readFile(file)).toString());
    expect(await systemHost.run(process.execPath, ['-p', '"printed"'])).toBe('printed\n');
    expect(systemHost.platform).toBe(process.platform);
  });

  test('that cannot be read leads to an error without the UUID', async () => {
    for (const platform of ['darwin', 'win32', 'linux', 'plan9']) {
      const error = await readMachineId({}, host(platform, {})).then(
        () => undefined,
        (caught: unknown) => caught as Error,
      );
      expect(error).toBeInstanceOf(Error);
      expect(`${error?.message} ${error?.stack} ${String(error?.cause)}`).not.toContain(UUID);
    }
  });

  test('is refused if the machineId option returns the UUID itself, or any text that is not a SHA-256 digest', async () => {
    await expect(checkedMachineId(async () => UUID)).rejects.toThrow('SHA-256 digest');
    for (const wrong of ['a'.repeat(65), `x${'a'.repeat(64)}`, `${'a'.repeat(64)}\n`])
      await expect(checkedMachineId(async () => wrong)).rejects.toThrow('SHA-256 digest');
    expect(await checkedMachineId(async () => 'AB'.repeat(32))).toBe('ab'.repeat(32));
  });
});
