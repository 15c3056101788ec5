import type { OnExpiry } from '../core/config.js';
import { Invalid, textField } from '../core/field.js';
import { emailField } from '../fields/email.js';
import { machinesAllowedField } from '../fields/license-terms.js';
import { transactionIdField } from '../fields/transaction-id.js';
import { PREVIOUS_KEY_SENTENCE, readPreviousKey } from '../keys/previous-key-text.js';
import type { PurchaseState, StaffStatus } from '../licenses/license.rules.js';
import { readDate, type DayOrder, type ReadDate } from './dates.js';
import { FieldReader } from './field-reader.js';
import type { SourceRow } from './source-row.js';
import { readStatus, statusWord } from './statuses.js';
import type { ExportFormat } from './systems.js';

/** How the rows of one import are read. */
export interface ReadOptions {
  readonly format: ExportFormat;
  readonly now: Date;
  /** The number of machines for each unit of the quantity, if the file has no limit of machines. */
  readonly defaultMachines: number;
  /** The number of machines of a license that is unlimited in the file. */
  readonly unlimitedMachines: number;
  readonly onExpiry: OnExpiry;
  /** The order of day and month in dates such as 03/04/2024; undefined if it is not known. */
  readonly dayOrder?: DayOrder | undefined;
}

/** A license as the export describes it. */
export interface ExportedLicense {
  /** In the form of `readPreviousKey`. */
  readonly previous_key: string;
  readonly email: string;
  readonly transaction_id: string | null;
  readonly staff_status: StaffStatus;
  readonly purchase_state: PurchaseState;
  readonly expires_at: Date | null;
  /** The day of the purchase; null if the file does not have it. */
  readonly purchased_at: Date | null;
  readonly machines_allowed: number;
  readonly on_expiry: OnExpiry;
  /**
   * For the report: the words of the status, the formats of the dates, whether the license is unlimited in the file, and whether
   * its order may have been refunded without a trace in the file (`hasNoRefundState`).
   */
  readonly read: {
    readonly words: readonly string[];
    readonly dateFormats: readonly string[];
    readonly isUnlimited: boolean;
    readonly isRefundUnknown: boolean;
  };
}

/** Why a row is skipped. Unlike a refused row, it needs no change. */
type SkipReason = 'no license key: a sale of something else' | 'a later payment for a license of the file';

/** The result of a row: a license, the reason to skip it, or the sentence that refuses it, which contains no text of a cell. */
type ReadRow =
  { readonly license: ExportedLicense } | { readonly skip: SkipReason } | { readonly refusal: string };

const previousKeyField = textField(PREVIOUS_KEY_SENTENCE, readPreviousKey);
/** What exports, databases and spreadsheets write in place of a value that does not exist; `\N` is that of MySQL and PostgreSQL. */
const NOTHING = String.raw`none|null|nan|n\/a|\\n|-|–`;
const NEVER = new RegExp(`^(?:|never|lifetime|perpetual|${NOTHING})$`, 'i');
/** As the id of a transaction, such a text would join licenses of different orders: the refund of one would end all of them. */
const NO_TRANSACTION = new RegExp(`^(?:0|${NOTHING})$`, 'i');
const UNLIMITED = /^(?:unlimited|null|none|∞)$/i;
/** A long number as a spreadsheet shows and saves it, such as `1.23457E+15`. */
const ROUNDED = /^\d(?:[.,]\d+)?E\+\d{2,3}$/i;
const IS_ROUNDED = new Invalid(
  'is a number that a spreadsheet has rounded: import the file as it was exported',
);

/** Reads a row of an export. All faults of the row are in its refusal. */
export function readLicense(row: SourceRow, options: ReadOptions): ReadRow {
  const { format } = options;
  const fields = new FieldReader(row, format);
  const skip = skipReason(fields, format);
  if (skip !== undefined) return { skip };

  const previous_key = fields.require('previous_key', unlessRounded(previousKeyField.parse));
  const email = fields.require('email', emailField.parse);
  const transaction_id = fields.read('transaction_id', readTransaction);
  const { expires, purchased } = readDates(fields, options);
  const words = statusWords(row, fields, format);
  const status = readCheckedStatus(words, expires, fields, options);
  const machines = readMachines(fields, options);

  if (fields.faults.length > 0 || !status || !previous_key || !email || !machines)
    return { refusal: fields.faults.join('; ') };
  return {
    license: {
      previous_key,
      email,
      transaction_id: transaction_id ?? null,
      staff_status: status.staff_status,
      purchase_state: status.purchase_state,
      expires_at: expires?.date ?? null,
      purchased_at: purchased?.date ?? null,
      machines_allowed: machines.allowed,
      on_expiry: options.onExpiry,
      read: {
        words,
        dateFormats: [expires, purchased].flatMap((date) => date?.format ?? []),
        isUnlimited: machines.isUnlimited,
        isRefundUnknown: Boolean(transaction_id) && hasNoRefundState(row, format),
      },
    },
  };
}

/** Refuses the text of a rounded number, whose digits are lost, and passes others to `parse`. */
const unlessRounded =
  <T>(parse: (text: string) => T | Invalid) =>
  (text: string) =>
    ROUNDED.test(text) ? IS_ROUNDED : parse(text);

/** Reads the id of a transaction. @returns null for a text that says that there is none */
const readTransaction = (text: string) =>
  NO_TRANSACTION.test(text) ? null : unlessRounded(transactionIdField.parse)(text);

/** Returns the reason to skip a row; undefined for a row to read. */
function skipReason(fields: FieldReader, { repeatColumn, listsSales }: ExportFormat): SkipReason | undefined {
  if (repeatColumn !== undefined && fields.isYes(repeatColumn))
    return 'a later payment for a license of the file';
  const hasKey = Boolean(fields.textOf('previous_key'));
  return !hasKey && listsSales ? 'no license key: a sale of something else' : undefined;
}

/** Reads the dates of a row. A date is null if the row has none, and undefined if it is invalid. */
function readDates(fields: FieldReader, { now, dayOrder }: ReadOptions) {
  const parse = (text: string): ReadDate | null | Invalid =>
    NEVER.test(text) ? null : readDate(text, dayOrder);
  const expires = fields.read('expires_at', parse);
  const purchased = fields.read('purchased_at', parse);
  if (purchased && purchased.date > now) fields.use('purchased_at', new Invalid('is in the future'));
  return { expires, purchased };
}

/** Reads the status. A status that says `expired` must agree with the expiry. */
function readCheckedStatus(
  words: readonly string[],
  expires: ReadDate | null | undefined,
  fields: FieldReader,
  { now }: ReadOptions,
) {
  const status = fields.use('status', readStatus(words));
  if (status?.isExpired && expires !== undefined && !(expires && expires.date <= now))
    fields.use('status', new Invalid('says that the license has expired, but expires_at is not in the past'));
  return status;
}

/** Returns the words of all columns of the status and of the flags, in the form of `statusWord`; `active` without any. */
function statusWords(row: SourceRow, fields: FieldReader, { columns, flags }: ExportFormat): string[] {
  const texts = (columns.status ?? []).map((column) => statusWord(row.cell(column) ?? ''));
  const flagged = (flags ?? []).flatMap(([column, valueThatCounts, word]) =>
    fields.isYes(column) === valueThatCounts ? [word] : [],
  );
  const words = [...new Set([...texts, ...flagged])].filter((word) => word !== '');
  return words.length > 0 ? words : ['active'];
}

/** Whether the format has columns about refunds, and this row has no value in any of them. */
const hasNoRefundState = (row: SourceRow, { refundColumns }: ExportFormat): boolean =>
  refundColumns !== undefined && refundColumns.every((column) => !row.cell(column)?.trim());

/** Returns the number of machines: the limit in the file, or else `defaultMachines` for each unit of the quantity. */
function readMachines(
  fields: FieldReader,
  { format, defaultMachines, unlimitedMachines }: ReadOptions,
): { allowed: number; isUnlimited: boolean } | undefined {
  const limit = fields.textOf('machines_allowed');
  if (limit !== undefined && (UNLIMITED.test(limit) || (limit === '' && format.isEmptyLimitUnlimited)))
    return { allowed: unlimitedMachines, isUnlimited: true };
  if (limit) {
    const allowed = fields.use('machines_allowed', machinesAllowedField.parseText(limit));
    return allowed === undefined ? undefined : { allowed, isUnlimited: false };
  }
  const quantity = fields.use('quantity', machinesAllowedField.parseText(fields.textOf('quantity') || '1'));
  const allowed = quantity && fields.use('quantity', machinesAllowedField.parse(quantity * defaultMachines));
  return allowed ? { allowed, isUnlimited: false } : undefined;
}
