import { MACHINES_ALLOWED, type OnExpiry } from '../core/config.js';
import { Invalid, wholeNumber } from '../core/field.js';
import { emailField } from '../fields/email.js';
import { machinesAllowedField } from '../fields/license-terms.js';
import { transactionIdField } from '../fields/transaction-id.js';
import { PREVIOUS_KEY_SENTENCE, readPreviousKey } from '../keys/previous-key-text.js';
import type { PurchaseState, StaffStatus } from '../licenses/license.rules.js';
import { readDate, type DayOrder, type ReadDate } from './dates.js';
import type { SourceRow } from './source-row.js';
import { readStatus, statusWord } from './statuses.js';
import type { ExportFormat, ImportField } from './vendors.js';

/** How the rows of one import are read. */
export interface ReadOptions {
  readonly format: ExportFormat;
  readonly now: Date;
  /** The machines of a license for whose quantity or limit the file has no number. */
  readonly defaultMachines: number;
  /** The machines of a license that has no limit in the file. */
  readonly unlimitedMachines: number;
  readonly onExpiry: OnExpiry;
  /** Of dates such as 03/04/2024; undefined if it is not known. */
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
  /** For the report: the words of the status, the formats of the dates, and whether the file lacks the limit of machines and the refund state. */
  readonly read: {
    readonly words: readonly string[];
    readonly dateFormats: readonly string[];
    readonly isUnlimited: boolean;
    readonly isRefundUnknown: boolean;
  };
}

/** Why a row is no license to import, and needs no change. */
export type SkipReason =
  'no license key: a sale of something else' | 'a later payment for a license of the file';

/** The result of a row: a license, the reason to skip it, or the sentence that refuses it. Sentences never contain the text of a cell. */
export type ReadRow =
  { readonly license: ExportedLicense } | { readonly skip: SkipReason } | { readonly refusal: string };

const NEVER = /^(?:|never|lifetime|perpetual|none|null|n\/a|-|–)$/i;
const UNLIMITED = /^(?:unlimited|null|none|∞)$/i;
const YES = /^(?:1|true|yes|y)$/i;
const NO = /^(?:0|false|no|n)$/i;
const quantityField = wholeNumber(MACHINES_ALLOWED.min, MACHINES_ALLOWED.max);

/** Reads a row of an export. All faults of the row are in its refusal. */
export function readLicense(row: SourceRow, options: ReadOptions): ReadRow {
  const { format, now } = options;
  const keyText = textOf(row, format, 'previous_key');
  if (format.repeatColumn !== undefined && YES.test(row.cell(format.repeatColumn)?.trim() ?? ''))
    return { skip: 'a later payment for a license of the file' };
  if (!keyText && format.listsSales) return { skip: 'no license key: a sale of something else' };

  const faults: string[] = [];
  const use = <T>(field: ImportField, value: T | Invalid): T | undefined => {
    if (!(value instanceof Invalid)) return value;
    faults.push(`${field} ${value.sentence}`);
    return undefined;
  };
  const readText = <T>(field: ImportField, read: (text: string) => T | Invalid): T | null | undefined => {
    const text = textOf(row, format, field);
    return text ? use(field, read(text)) : null;
  };
  const required = <T>(field: ImportField, value: T | null | undefined): T | undefined =>
    value === null ? use<T>(field, new Invalid('is missing')) : value;

  const previous_key = required(
    'previous_key',
    readText('previous_key', (text) => readPreviousKey(text) ?? new Invalid(PREVIOUS_KEY_SENTENCE)),
  );
  const email = required('email', readText('email', emailField.parse));
  const transaction_id = readText('transaction_id', transactionIdField.parse);
  const readDateOf = (field: ImportField) =>
    readText(field, (text): ReadDate | null | Invalid =>
      NEVER.test(text) ? null : readDate(text, options.dayOrder),
    );
  const expires = readDateOf('expires_at');
  const purchased = readDateOf('purchased_at');
  if (purchased && purchased.date > now) use('purchased_at', new Invalid('is in the future'));
  const words = statusWords(row, format);
  const status = use('status', readStatus(words));
  if (status?.isExpired && expires !== undefined && !(expires && expires.date <= now))
    use('status', new Invalid('says that the license has expired, but expires_at is not in the past'));
  const machines = readMachines(row, options, use);

  if (faults.length > 0 || !status || !previous_key || !email || !machines)
    return { refusal: faults.join('; ') };
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

/**
 * Returns the text of a field: that of the first of its columns that is not empty.
 * @returns undefined if the file has none of the columns
 */
function textOf(row: SourceRow, { columns }: ExportFormat, field: ImportField): string | undefined {
  const texts = (columns[field] ?? []).map((column) => row.cell(column)?.trim());
  return texts.find((text) => text) ?? texts.find((text) => text !== undefined);
}

/** Returns the words of all columns of the status and of the flags, in the form of `statusWord`; `active` without any. */
function statusWords(row: SourceRow, { columns, flags }: ExportFormat): string[] {
  const texts = (columns.status ?? []).map((column) => statusWord(row.cell(column) ?? ''));
  const flagged = (flags ?? []).flatMap(([column, valueThatCounts, word]) =>
    (valueThatCounts ? YES : NO).test(row.cell(column)?.trim() ?? '') ? [word] : [],
  );
  const words = [...new Set([...texts, ...flagged])].filter((word) => word !== '');
  return words.length > 0 ? words : ['active'];
}

/** Whether the vendor knows refunds, and the file does not say for this row whether its order was refunded. */
const hasNoRefundState = (row: SourceRow, { refundColumns }: ExportFormat): boolean =>
  refundColumns !== undefined && refundColumns.every((column) => !row.cell(column)?.trim());

/** The number of machines: the limit in the file, or else the default for each of the quantity. */
function readMachines(
  row: SourceRow,
  { format, defaultMachines, unlimitedMachines }: ReadOptions,
  use: <T>(field: ImportField, value: T | Invalid) => T | undefined,
): { allowed: number; isUnlimited: boolean } | undefined {
  const limit = textOf(row, format, 'machines_allowed');
  if (limit !== undefined && (UNLIMITED.test(limit) || (limit === '' && format.isEmptyLimitUnlimited)))
    return { allowed: unlimitedMachines, isUnlimited: true };
  if (limit) {
    const allowed = use('machines_allowed', machinesAllowedField.parseText(limit));
    return allowed === undefined ? undefined : { allowed, isUnlimited: false };
  }
  const quantity = use('quantity', quantityField.parseText(textOf(row, format, 'quantity') || '1'));
  const allowed = quantity && use('quantity', machinesAllowedField.parse(quantity * defaultMachines));
  return allowed ? { allowed, isUnlimited: false } : undefined;
}
