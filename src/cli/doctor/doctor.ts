import type { Command } from 'commander';
import { Clock } from '../../core/clock.js';
import { Config, ConfigError } from '../../core/config.js';
import { packageVersion } from '../../core/package-version.js';
import { isFree, withFreePort } from '../../database/embedded/free-port.js';
import { aligned, CommandError, print } from '../terminal/output.js';
import { checkDatabase, checkReplica } from './database-checks.js';
import { checkFiles, checkPages, checkUser } from './file-checks.js';
import { checkKeys } from './key-checks.js';
import { checkMail, checkPorts, checkPublicUrl, isMooringAt } from './network-checks.js';
import { Report } from './report.js';

/**
 * `mooring doctor`: checks what a start needs, with the code of the start, and prints a line for each finding. It changes nothing.
 * @throws ConfigError if a setting is wrong @throws CommandError if another check failed
 */
export async function doctor(_options: unknown, command: Command): Promise<void> {
  const report = new Report();
  report.ok('versions', `Mooring ${packageVersion()} runs on Node ${process.versions.node}.`);
  const config = await readSettings(report);
  checkPages(report);
  if (config) await checkWith(config, report);
  const rows = report.findings.map(({ status, check, text }) => [status, check, text]);
  print(command, { checks: report.findings }, aligned(rows));
  if (report.failed.length === 0) return;
  const summary = `Checks that failed: ${report.failed.join(', ')}.`;
  throw report.isSettingWrong ? new ConfigError(summary) : new CommandError(summary);
}

/** Reads the settings as the service does. @returns undefined if one is wrong */
async function readSettings(report: Report): Promise<Config | undefined> {
  try {
    // Without PORT, a service in development takes the first free port. While it runs, that port is not free any more, but it is
    // still the port to check. Therefore a port on which Mooring answers is usable too.
    const isUsable = async (port: number, host: string) =>
      (await isFree(port, host)) || isMooringAt(host, port);
    const config = new Config(await withFreePort(process.env, isUsable));
    report.ok(
      'settings',
      `All settings are valid, in ${config.isProduction ? 'production' : 'development'}.`,
    );
    return config;
  } catch (error) {
    report.fail('settings', error);
    return undefined;
  }
}

async function checkWith(config: Config, report: Report): Promise<void> {
  checkUser(config, report);
  await checkKeys(config, report);
  await checkFiles(config, report);
  await checkMail(config, report);
  await checkDatabase(config, new Clock(), report);
  await checkReplica(config, report);
  await checkPorts(config, report);
  await checkPublicUrl(config, report);
}
