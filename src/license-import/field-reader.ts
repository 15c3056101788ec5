import { Invalid } from '../core/field.js';
import { columnName, type SourceRow } from './source-row.js';
import type { ExportFormat, ImportField } from './systems.js';

const YES = /^(?:1|true|yes|y)$/i;
const NO = /^(?:0|false|no|n)$/i;

/** Reads the fields of a row, and collects their faults, so that the refusal of the row names all of them. */
export class FieldReader {
  readonly faults: string[] = [];

  constructor(
    private readonly row: SourceRow,
    private readonly format: ExportFormat,
  ) {}

  /**
   * Returns the text of a field: that of the first of its columns that is not empty.
   * @returns undefined if the file has none of the columns
   */
  textOf(field: ImportField): string | undefined {
    const texts = (this.format.columns[field] ?? []).map((column) => this.row.cell(column)?.trim());
    return texts.find((text) => text) ?? texts.find((text) => text !== undefined);
  }

  /** Returns the value of a field; undefined for an invalid value, whose fault is collected. */
  use<T>(field: ImportField, value: T | Invalid): T | undefined {
    if (!(value instanceof Invalid)) return value;
    this.faults.push(`${field} ${value.sentence}`);
    return undefined;
  }

  /** Reads a field. @returns null if it is empty, undefined if it is invalid */
  read<T>(field: ImportField, parse: (text: string) => T | Invalid): T | null | undefined {
    const text = this.textOf(field);
    return text ? this.use(field, parse(text)) : null;
  }

  /**
   * Reads a column of yes and no. @param column its name in the export @returns undefined if it is empty or missing, or has another
   * text, whose fault is collected: that may be a yes in another language, and a license must not count as paid because its refund
   * was not understood
   */
  isYes(column: string): boolean | undefined {
    const text = this.row.cell(columnName(column))?.trim();
    if (!text) return undefined;
    if (YES.test(text)) return true;
    if (NO.test(text)) return false;
    this.faults.push(`${column} must be yes or no, true or false, or 1 or 0`);
    return undefined;
  }

  /** Reads a field that must not be empty. @returns undefined if it is empty or invalid */
  require<T>(field: ImportField, parse: (text: string) => T | Invalid): T | undefined {
    const value = this.read(field, parse);
    return value === null ? this.use<T>(field, new Invalid('is missing')) : value;
  }
}
