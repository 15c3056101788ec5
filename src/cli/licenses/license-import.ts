import type { FileHandle } from 'node:fs/promises';
import type { Command } from 'commander';
import { ON_EXPIRY } from '../../core/config.js';
import { importColumns, importLicenses, ImportError } from '../../licenses/license-import.js';
import { IMPORT_FIELDS, SYSTEMS } from '../../license-import/systems.js';
import { openLicenseKeys, withDatabase } from '../context/command-context.js';
import { choiceOption, machines, ON_EXPIRY_TEXT, typedOption, wholeNumber } from '../terminal/options.js';
import { resolveFromCallerFolder } from '../terminal/files.js';
import { auditContextOf, print, printMessage, UsageError } from '../terminal/output.js';
import { csvRows, openFile } from './csv-rows.js';
import { collectFilters, collectMaps } from './import-options.js';
import { importExportFile, isOfAnotherSystem, sendKeys, type ExportImportOptions } from './export-import.js';

/** Options that the import of license keys refuses. `--send` accepts only `dryRun` of them. */
const EXPORT_OPTIONS = ['only', 'dates', 'machines', 'onExpiry', 'dryRun', 'refused'] as const;

/** Adds the command `license import`. */
export function importCommand(license: Command): void {
  license
    .command('import')
    .argument('[file]', 'CSV with license_key, email and, if wanted, machines_allowed, expires_at, on_expiry')
    .description(
      'import licenses with the keys that their holders have, without a mail; or, with --from or --map, the export of another system, whose holders get new keys by mail',
    )
    .addOption(choiceOption('--from <system>', 'whose export the file is', Object.keys(SYSTEMS)))
    .option(
      '--map <column=field>',
      `a column of the file and what it is: ${IMPORT_FIELDS.join(', ')}; repeatable`,
      collectMaps,
    )
    .option(
      '--only <column=value>',
      'import only the rows with this value, such as one product; repeatable',
      collectFilters,
    )
    .addOption(choiceOption('--dates <order>', 'the order of dates such as 03/04/2027', ['mdy', 'dmy']))
    .option('--machines <n>', 'the machines of a license for which the file has no limit', machines)
    .addOption(choiceOption('--on-expiry <what>', ON_EXPIRY_TEXT, ON_EXPIRY))
    .option('--dry-run', 'print what would be imported, or mailed by --send, and change nothing')
    .option(
      '--refused <file>',
      'where the refused rows are written (default: the name of the file and .refused.csv or .refused.json, with a number if that exists)',
    )
    .option('--no-mail', 'send no mails with new keys; license import --send sends them later')
    .option(
      '--send',
      'without a file: mail the new keys that were not mailed yet, of all earlier imports; with --dry-run, print how many',
    )
    .option(
      '--mails-per-minute <n>',
      'the pace of the mails with new keys',
      wholeNumber('--mails-per-minute', 1, 60_000),
      120,
    )
    .action(chooseImport);
}

async function chooseImport(
  file: string | undefined,
  options: ExportImportOptions & { readonly send?: true },
  command: Command,
): Promise<void> {
  if (options.send) {
    if (file !== undefined || isOfAnotherSystem(options))
      throw new UsageError(
        '--send is for licenses that are imported already: give no file, --from or --map with it.',
      );
    if (!options.mail || EXPORT_OPTIONS.some((name) => name !== 'dryRun' && options[name] !== undefined))
      throw new UsageError(
        '--send mails the new keys of all earlier imports: of the other options it takes only --dry-run and --mails-per-minute.',
      );
    return sendKeys(options, command);
  }
  if (file === undefined) throw new UsageError('Give the file to import.');
  if (isOfAnotherSystem(options)) return importExportFile(file, options, command);
  const exportOption = EXPORT_OPTIONS.find((name) => options[name] !== undefined);
  if (exportOption)
    throw new UsageError(
      `${typedOption(exportOption)} needs --from or --map, which say how the file is read.`,
    );
  return importFile(file, command);
}

async function importFile(name: string, command: Command): Promise<void> {
  const path = resolveFromCallerFolder(name);
  await using file = await openFile(path);
  try {
    const imported = await importRows(file, path, command);
    print(command, { imported }, `${imported} ${imported === 1 ? 'license' : 'licenses'} imported.`);
  } catch (error) {
    if (error instanceof ImportError) error.faults.forEach(printMessage);
    throw error;
  }
}

/** Imports the rows of a file, of which the first is the header. @returns the number of licenses */
async function importRows(file: FileHandle, path: string, command: Command): Promise<number> {
  // The end of the generator removes the progress bar, also if a step fails before all rows are read.
  await using rows = csvRows(file, path);
  const header = await rows.next();
  const columns = importColumns(header.value?.cells ?? []);
  // `await` keeps the rows open until they are read.
  return await withDatabase(async (context) => {
    // The check value of LICENSE_KEY_SECRET must be stored before the first license. After an import into an empty database, the
    // secret would be refused, because no imported key is derived from it.
    await openLicenseKeys(context);
    return importLicenses(context, columns, rows, auditContextOf(command));
  });
}
