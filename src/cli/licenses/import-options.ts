import { IMPORT_FIELDS, type ImportField } from '../../license-import/systems.js';
import { UsageError } from '../terminal/output.js';

/** The columns that `--map` names, by the import field that is read from each. */
export type ColumnMaps = Readonly<Partial<Record<ImportField, string>>>;

/** The values that `--only` demands, by the names of their columns. */
export type RowFilters = Readonly<Record<string, string>>;

/** Collects the values of `--map "License Key=previous_key"`. */
export function collectMaps(text: string, before: ColumnMaps | undefined): ColumnMaps {
  // The name of a column may contain an equals sign; that of a field does not.
  const [column, name] = splitAt(text, text.lastIndexOf('='));
  if (!column || !name) throw new UsageError('--map must be COLUMN=FIELD.');
  const field = IMPORT_FIELDS.find((known) => known === name);
  if (!field) throw new UsageError(`--map must end with one of ${IMPORT_FIELDS.join(', ')}.`);
  if (before?.[field] !== undefined) throw new UsageError(`--map names two columns for ${field}.`);
  return { ...before, [field]: column };
}

/** Collects the values of `--only "Item Name=My App"`. */
export function collectFilters(text: string, before: RowFilters | undefined): RowFilters {
  // The value may contain an equals sign.
  const [column, value] = splitAt(text, text.indexOf('='));
  if (!column) throw new UsageError('--only must be COLUMN=VALUE.');
  if (before && Object.hasOwn(before, column)) throw new UsageError(`--only names ${column} twice.`);
  return { ...before, [column]: value };
}

/** Splits a text at the equals sign at this position; two empty parts if there is none. */
const splitAt = (text: string, at: number): [string, string] =>
  at < 0 ? ['', ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
