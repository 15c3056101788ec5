import type { Command } from 'commander';
import { MACHINES_ALLOWED, type OnExpiry } from '../../core/config.js';
import type { DayOrder } from '../../license-import/dates.js';
import { importExport } from '../../license-import/import-export.js';
import type { ImportReport } from '../../license-import/import-report.js';
import { countKeysToMail, KeyMailSchedule, mailImportedKeys } from '../../license-import/key-mails.js';
import { columnName } from '../../license-import/source-row.js';
import { exportFormat, type ExportFormat, type SystemName } from '../../license-import/systems.js';
import { createErasureService, openLicenseKeys, withDatabase } from '../context/command-context.js';
import { resolveFromCallerFolder } from '../terminal/files.js';
import {
  aligned,
  auditContextOf,
  CommandError,
  print,
  printMessage,
  UsageError,
  wantsJson,
} from '../terminal/output.js';
import { openFile } from './csv-rows.js';
import { openExport, type ExportRow } from './export-rows.js';
import type { ColumnMaps, RowFilters } from './import-options.js';
import { nextRefusedPath, RefusedFile } from './refused-file.js';

/** The options of `license import` for the export of another system. */
export interface ExportImportOptions {
  readonly from?: SystemName;
  readonly map?: ColumnMaps;
  readonly only?: RowFilters;
  readonly dates?: DayOrder;
  readonly machines?: number;
  readonly onExpiry?: OnExpiry;
  readonly dryRun?: true;
  readonly refused?: string;
  readonly mail: boolean;
  readonly mailsPerMinute: number;
}

/** Whether the file is the export of another system, and no file of license keys. */
export const isOfAnotherSystem = ({ from, map }: Pick<ExportImportOptions, 'from' | 'map'>): boolean =>
  from !== undefined || map !== undefined;

/** Imports the export of another system, and prints a report. The exit status is 1 if a row was refused. */
export async function importExportFile(
  name: string,
  options: ExportImportOptions,
  command: Command,
): Promise<void> {
  if (options.refused === '-' && wantsJson(command))
    throw new UsageError('--refused - and --json cannot be combined: both would be on standard output.');
  const path = resolveFromCallerFolder(name);
  const format = exportFormat(options.from, options.map ?? {});
  await using file = await openFile(path);
  const columnsOfOptions = [...Object.values(options.map ?? {}), ...Object.keys(options.only ?? {})];
  await using exported = await openExport(file, path, format, columnsOfOptions);
  const { header, rows } = exported;
  const refusedFile = options.dryRun
    ? undefined
    : new RefusedFile(refusedPath(options.refused, path, header ? 'csv' : 'json'), header);
  try {
    const report = await importExportRows({ rows, format, refusedFile }, options, command);
    const refused_file = (await refusedFile?.close()) ?? null;
    printReport(command, { ...report, refused_file }, options);
    if (report.refused > 0)
      throw new CommandError(
        report.refused === 1 ? 'One row was refused.' : `${report.refused} rows were refused.`,
      );
  } catch (error) {
    // Removes the file only if it is incomplete: after `close` this changes nothing.
    await refusedFile?.discard();
    throw error;
  }
}

interface ImportFiles {
  readonly rows: AsyncGenerator<ExportRow, undefined>;
  readonly format: ExportFormat;
  /** Receives the rows that are refused; undefined for a dry run. */
  readonly refusedFile: RefusedFile | undefined;
}

/** Imports the rows of an export into the database of the settings. */
function importExportRows(
  { rows, format, refusedFile }: ImportFiles,
  options: ExportImportOptions,
  command: Command,
): Promise<ImportReport> {
  return withDatabase(async (context) => {
    const { config, clock, dataSource } = context;
    const keys = await openLicenseKeys(context);
    const erasures = await createErasureService(context, keys);
    const now = clock.now();
    const mails = options.mail
      ? await KeyMailSchedule.after(dataSource, now, options.mailsPerMinute)
      : undefined;
    const parts = { keys, audit: auditContextOf(command), now, mails, erasures };
    return importExport(dataSource, rows, parts, {
      read: {
        format,
        now,
        defaultMachines: options.machines ?? config.defaultMachinesPerLicense,
        unlimitedMachines: options.machines ?? MACHINES_ALLOWED.max,
        onExpiry: options.onExpiry ?? config.defaultOnExpiry,
        dayOrder: options.dates,
      },
      isDryRun: options.dryRun ?? false,
      isSelected: rowFilter(options.only ?? {}),
      onRefused: async (row: ExportRow, { place, reason }) => {
        printMessage(`${place}: ${reason}`);
        await refusedFile?.add(row, reason);
      },
    });
  });
}

/** Returns a function that tells whether a row has the values of `--only`. */
function rowFilter(only: RowFilters): (row: ExportRow) => boolean {
  const filters = Object.entries(only).map(([column, value]) => ({
    column: columnName(column),
    value: value.toLowerCase(),
  }));
  return (row) => filters.every(({ column, value }) => row.cell(column)?.trim().toLowerCase() === value);
}

function refusedPath(given: string | undefined, path: string, extension: 'csv' | 'json'): string {
  if (given === undefined) return nextRefusedPath(path, extension);
  return given === '-' ? given : resolveFromCallerFolder(given);
}

/** Queues the mails with the new keys of imported licenses that were not mailed yet. */
export async function sendKeys(
  { dryRun, mailsPerMinute }: Pick<ExportImportOptions, 'dryRun' | 'mailsPerMinute'>,
  command: Command,
): Promise<void> {
  const mails = await withDatabase(async ({ clock, dataSource }) => {
    const now = clock.now();
    if (dryRun) return countKeysToMail(dataSource, now);
    const schedule = await KeyMailSchedule.after(dataSource, now, mailsPerMinute);
    return mailImportedKeys(dataSource, schedule, auditContextOf(command), now);
  });
  const what = mails === 1 ? '1 mail with a new key' : `${mails} mails with new keys`;
  const verb = dryRun ? 'would be queued' : mails === 1 ? 'is queued' : 'are queued';
  print(
    command,
    { dry_run: dryRun ?? false, mails },
    `${what} of all earlier imports ${verb}. The service sends ${mailsPerMinute} a minute.`,
  );
}

const refusedPlace = ({ refused_file }: PrintedReport): string =>
  refused_file === '-' ? ', on standard output' : refused_file ? `, in ${refused_file}` : '';

type PrintedReport = ImportReport & { readonly refused_file: string | null };

function printReport(command: Command, report: PrintedReport, options: ExportImportOptions): void {
  if (options.refused === '-') printMessage(reportText(report, options));
  else print(command, report, reportText(report, options));
}

function reportText(
  report: PrintedReport,
  { dryRun, machines, mailsPerMinute }: ExportImportOptions,
): string {
  const count = (name: string, number: number, more = ''): [string, string][] =>
    number === 0 ? [] : [[name, `${number}${more}`]];
  const licenses = report.statuses.map(({ in_file, becomes, licenses }): [string, string] => [
    `  ${in_file}`,
    `${licenses} become ${becomes}`,
  ]);
  const skipped = Object.entries(report.skipped_by_reason).flatMap(([reason, number]) =>
    count(`  ${reason}`, number),
  );
  const formats = Object.entries(report.date_formats).flatMap(([format, number]) =>
    count(`  ${format}`, number),
  );
  return aligned([
    ['Rows', String(report.rows)],
    [dryRun ? 'Would be imported' : 'Imported', String(report.imported)],
    ...licenses,
    ...count(
      '  without a limit of machines',
      report.without_machine_limit,
      ` get ${machines ?? MACHINES_ALLOWED.max}`,
    ),
    ...count(
      'Refund status unknown',
      report.refund_unknown,
      ': the file does not have the status of their orders',
    ),
    ...count('Linked to a license of the same transaction', report.linked),
    ...count('Imported before', report.already_imported),
    ...count('Repeated in the file', report.repeated),
    ...count('Purchases in the database whose state changed', report.raised_purchases),
    ...count('Skipped', report.skipped),
    ...skipped,
    ['Refused', `${report.refused}${refusedPlace(report)}`],
    ...(formats.length > 0 ? [['Dates', ''] as [string, string], ...formats] : []),
    [dryRun ? 'Mails to send' : 'Mails queued', `${report.mails}, ${mailsPerMinute} a minute`],
  ]);
}
