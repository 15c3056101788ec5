import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { Config } from '../../src/core/config.js';
import { temporaryFolder } from '../support/folders.js';
import { WITHOUT_SERVER } from '../support/processes/cli-harness.js';
import { InstalledCommand } from '../support/processes/installed-command.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { WITHOUT_ROOT_RIGHTS } from '../support/processes/without-root-rights.js';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('deploy/mooring@.service', () => {
  const lines = read('deploy/mooring@.service').matchAll(/^(\w+)=(.*)$/gm);
  const unit = Map.groupBy(
    [...lines].map(([, name, value]) => ({ name: name!, value: value! })),
    ({ name }) => name,
  );
  const values = (name: string) => (unit.get(name) ?? []).map(({ value }) => value);
  const valueOf = (name: string) => {
    expect([name, values(name)]).toEqual([name, [expect.any(String)]]);
    return values(name)[0]!;
  };

  test.each(
    Object.entries({
      NoNewPrivileges: ['true'],
      CapabilityBoundingSet: [''],
      AmbientCapabilities: [''],
      UMask: ['0077'],
      ProtectSystem: ['strict'],
      ProtectHome: ['true'],
      PrivateTmp: ['true'],
      PrivateDevices: ['true'],
      DevicePolicy: ['closed'],
      PrivateUsers: ['true'],
      PrivateMounts: ['true'],
      PrivateIPC: ['true'],
      RemoveIPC: ['true'],
      ProtectProc: ['invisible'],
      ProcSubset: ['pid'],
      ProtectClock: ['true'],
      ProtectHostname: ['true'],
      ProtectControlGroups: ['true'],
      ProtectKernelLogs: ['true'],
      ProtectKernelModules: ['true'],
      ProtectKernelTunables: ['true'],
      KeyringMode: ['private'],
      LockPersonality: ['true'],
      RestrictAddressFamilies: ['AF_INET AF_INET6 AF_UNIX'],
      RestrictNamespaces: ['true'],
      RestrictRealtime: ['true'],
      RestrictSUIDSGID: ['true'],
      SystemCallArchitectures: ['native'],
      SystemCallFilter: ['@system-service', '~@privileged @resources'],
      LimitCORE: ['0'],
      // Nothing but the state directory can be written.
      ReadWritePaths: [],
      StateDirectory: ['mooring'],
      StateDirectoryMode: ['0700'],
      Restart: ['always'],
      StartLimitIntervalSec: ['0'],
    }),
  )('%s is %j', (name, expected) => {
    expect(values(name)).toEqual(expected);
  });

  test('the service runs as in the image, with the settings file that the command line reads', () => {
    const [node, settings, ...rest] = valueOf('ExecStart').split(' ');
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))![1]!) as string[];
    expect([node!.replace(/^.*\//, ''), ...rest.map((part) => part.replace('/opt/mooring/', ''))]).toEqual(
      command,
    );
    const wrapper = read('deploy/mooring');
    expect(settings).toBe(`--env-file=${/MOORING_SETTINGS:-(\S+)\}/.exec(wrapper)![1]}`);
    expect(valueOf('User')).toBe(/^user=(\w+)$/m.exec(wrapper)![1]);
  });

  test('each instance has its own ports, which take precedence over the settings file', () => {
    // `--env-file` of Node changes no variable that is set, in contrast to EnvironmentFile of systemd.
    expect(valueOf('Environment')).toBe('PORT=%i METRICS_PORT=1%i');
    expect(values('EnvironmentFile')).toEqual([]);
  });

  test('the working directory is the state directory, and the data folder of the settings that init makes', () => {
    const help = execFileSync(process.execPath, ['dist/cli.js', 'init', '--help'], { encoding: 'utf8' });
    const dataDir = /\(default:\s+"([^"]+)"\)/.exec(help)![1];
    expect([valueOf('WorkingDirectory'), `/var/lib/${valueOf('StateDirectory')}`]).toEqual([
      dataDir,
      dataDir,
    ]);
  });

  test('the service starts after time-sync.target, because a clock that is wrong at the start may not be detected', () => {
    expect(valueOf('After').split(' ')).toContain('time-sync.target');
  });

  test('the service starts after network file systems are mounted, because a missing key folder would end it for good', () => {
    expect(valueOf('After').split(' ')).toContain('remote-fs.target');
  });

  test('the service is not started again after a wrong setting (exit code 2) or without a settings file (9)', () => {
    expect(valueOf('RestartPreventExitStatus').split(' ')).toEqual(['2', '9']);
  });

  test('a stop waits for the largest SHUTDOWN_DELAY_SECONDS and the ten seconds after it', () => {
    const timeLeft = Number(valueOf('TimeoutStopSec')) - 10;
    const config = (seconds: number) => new Config({ SHUTDOWN_DELAY_SECONDS: String(seconds) });
    const largest = Array.from({ length: 100 }, (_, i) => i).findLast((seconds) => {
      try {
        return config(seconds).shutdownDelaySeconds === seconds;
      } catch {
        return false;
      }
    });
    expect(largest).toBeGreaterThan(0);
    expect(timeLeft).toBeGreaterThan(largest!);
  });

  test('the memory limit is above that of Node, and the same as in compose', () => {
    const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
      services: Record<string, { mem_limit?: string }>;
    };
    const heap = Number(/--max-old-space-size=(\d+)/.exec(valueOf('ExecStart'))![1]);
    const limit = Number(/^(\d+)M$/.exec(valueOf('MemoryMax'))![1]);
    expect(limit).toBeGreaterThanOrEqual(heap + 200);
    expect(services['service']!.mem_limit).toBe(`${limit}m`);
  });
});

describe('deploy/mooring', () => {
  const installed = new InstalledCommand('deploy/mooring');

  test('runs a command with the settings of the file, which no shell reads', async () => {
    const { PUBLIC_URL, PRODUCT, MANIFEST_PUBLIC_KEYS } = PRODUCTION_SETTINGS;
    const filledIn = {
      ...WITHOUT_SERVER,
      PUBLIC_URL,
      PRODUCT,
      MANIFEST_PUBLIC_KEYS,
      MAIL_FROM: "'A & B <a@example.com>'",
    };
    expect(await installed.run(['init', installed.settingsDir])).toMatchObject({ code: 0 });
    installed.fillIn({ ...filledIn, DATABASE_URL: 'postgres://127.0.0.1/none' });
    expect(await installed.run(['keys', 'list', '--json'])).toMatchObject({ code: 0, json: [{}, {}] });
    // The setting is checked, so it was read.
    installed.fillIn({ MAIL_FROM: "'A & B <nothing>'" });
    expect(await installed.run(['keys', 'list'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^MAIL_FROM must be /),
    });
  });

  test('prints the completion for a shell to a person who cannot read the settings', async () => {
    const run = await installed.run(['completion', 'bash'], { settings: '/nonexistent/mooring.env' });
    expect(run).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('complete -F') });
  });

  test('passes arguments unchanged', async () => {
    expect(await installed.run(["it's no $command *", 'x'])).toMatchObject({
      code: 2,
      stderr: "Unknown command 'it's no $command *'.\n",
    });
  });

  test('runs as the user of the service if root calls it', async () => {
    const run = await installed.run(['license', 'issue', '--email', 'a b'], { user: 'root' });
    expect(run.stdout).toBe(`runuser\n-u\nmooring\n--\n${installed.command}\nlicense\nissue\n--email\na b\n`);
  });

  test('finds a file in the folder of the caller, also if the user of the service cannot enter it', async () => {
    const folder = temporaryFolder();
    const caller = [...WITHOUT_ROOT_RIGHTS, 'sh', '-c', 'cd "$0" && chmod 0 . && exec "$@"', folder];
    const run = await installed.run(['manifest', 'show', 'manifest.json'], { caller });
    chmodSync(folder, 0o700);
    const { username } = userInfo();
    expect(run).toMatchObject({
      code: 1,
      stderr: `${folder}/manifest.json cannot be used: the user ${username} has no permission (EACCES).\n`,
    });
  });

  test('names a settings file, or its folder, that root has restored and the user of the service cannot read', async () => {
    const folder = temporaryFolder();
    const settings = join(folder, 'mooring.env');
    writeFileSync(settings, '', { mode: 0 });
    const refusal = async (user = 'mooring') =>
      (await installed.run(['status'], { settings, caller: WITHOUT_ROOT_RIGHTS, user })).stderr;
    const sentence = (path: string) =>
      `mooring: the user mooring cannot read ${settings}. Give it the files: chown -R mooring: ${path}\n`;
    expect(await refusal()).toBe(sentence(settings));
    expect(await refusal('ada')).toMatch(/ cannot be read\. Run the command with sudo;/);
    chmodSync(folder, 0);
    const ofFolder = await refusal();
    chmodSync(folder, 0o700);
    expect(ofFolder).toBe(sentence(folder));
  });

  test('without a readable settings file, only the commands that need none run', async () => {
    const without = { settings: '/nonexistent/mooring.env' };
    expect(await installed.run(['--version'], without)).toMatchObject({ code: 0, stderr: '' });
    expect(await installed.run(['status'], without)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'mooring: /nonexistent/mooring.env cannot be read. Run the command with sudo; `mooring init /nonexistent` makes the file.\n',
      json: undefined,
    });
  });
});
