import { statfs } from 'node:fs/promises';
import { Logo } from '../../brand/logo.js';
import { Config, ConfigError } from '../../core/config.js';
import { AppLogger } from '../../core/logger.js';
import { findWriteFault, nearestExisting } from '../../core/write-fault.js';
import { missingPagesRemedy, pagesAreBuilt } from '../../http/pages.js';
import { Languages } from '../../languages/languages.service.js';
import { oneSentence } from '../terminal/error-sentence.js';
import { CommandError } from '../terminal/output.js';
import type { Report } from './report.js';

const MIB = 1024 * 1024;
/**
 * Free space below which doctor warns, and below which it fails: writes to DATA_DIR (the embedded database, `outbox`, the default
 * TOMBSTONE_FILE) may soon fail.
 */
const [WARNING_MIB, FAILURE_MIB] = [1024, 100];

/** Checks whether the web pages are built. */
export function checkPages(report: Report): void {
  if (pagesAreBuilt()) report.ok('pages', 'The web pages are built.');
  else report.warn('pages', `The web pages are missing: ${missingPagesRemedy()}.`);
}

/** Checks the user of this command. Root may write everything, so the checks of files would say nothing about the service. */
export function checkUser({ isProduction }: Config, report: Report): void {
  if (isProduction && process.getuid?.() === 0)
    report.warn(
      'user',
      'This command runs as root, so it cannot check the rights of the service: run it as the user of the service.',
    );
}

/** Checks the files and folders that settings name. */
export async function checkFiles(config: Config, report: Report): Promise<void> {
  await report.run('brand', () => {
    const { image } = new Logo(config);
    return image ? `LOGO_FILE is a ${image.type} image.` : undefined;
  });
  await report.run('languages', () => checkLanguages(config, report));
  await report.run('data folder', () => checkDataDir(config, report));
  await report.run('tombstones', () => checkTombstones(config, report));
}

function checkLanguages(config: Config, report: Report): string {
  // A start logs these warnings as JSON lines. Here each line becomes a finding.
  const write = (line: string) => {
    const { level: _level, time: _time, msg, ...details } = JSON.parse(line) as Record<string, unknown>;
    const facts = Object.entries(details)
      .map(([name, value]) => `${name.replace('_', ' ')}: ${String(value)}`)
      .join(', ');
    report.warn(
      'languages',
      `${oneSentence(String(msg)).slice(0, -1)} (${facts}): see docs/operations/languages.md.`,
    );
  };
  const { views } = new Languages(config, new AppLogger('warn', { write }));
  return `Pages and mails are in ${views.map(({ tag }) => tag).join(', ')}.`;
}

async function checkDataDir({ dataDir }: Config, report: Report): Promise<string | void> {
  await requireWritable('DATA_DIR', dataDir, 'folder');
  const { bavail, bsize } = await statfs(await nearestExisting(dataDir));
  return checkFreeSpace(Math.floor((bavail * bsize) / MIB), report);
}

/** Checks the free space of the disk of DATA_DIR, in MiB. It is exported for tests, because a test cannot choose its disk. */
export function checkFreeSpace(free: number, report: Report): string | void {
  const text = `The disk of DATA_DIR has ${free} MiB free`;
  const remedy = `delete files until it has at least ${WARNING_MIB} MiB.`;
  if (free < FAILURE_MIB) throw new CommandError(`${text}: ${remedy}`);
  if (free >= WARNING_MIB) return `${text}.`;
  report.warn('data folder', `${text}: ${remedy}`);
}

async function checkTombstones(config: Config, report: Report): Promise<string> {
  const { tombstoneFile, isTombstoneFileGiven, isProduction } = config;
  await requireWritable('TOMBSTONE_FILE', tombstoneFile, 'file');
  if (isProduction && !isTombstoneFileGiven) {
    const text =
      'TOMBSTONE_FILE is not set: set it to a file outside the database and its backups (docs/operations/erasure.md).';
    report.warn('tombstones', text);
  }
  return `${tombstoneFile} can be written.`;
}

/** @throws ConfigError if the file or folder that a setting names cannot be written or created */
async function requireWritable(setting: string, path: string, kind: 'file' | 'folder'): Promise<void> {
  const fault = await findWriteFault(path, kind);
  if (!fault) return;
  throw new ConfigError(
    `${setting} cannot be used, because ${fault.target} cannot be written (${fault.code}): give the user of the service access, or set another path.`,
  );
}
