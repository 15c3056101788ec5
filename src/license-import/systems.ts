import { columnName } from './source-row.js';

/** What a row says about a license, in the names that `--map` uses. */
export const IMPORT_FIELDS = [
  'previous_key',
  'email',
  'transaction_id',
  'status',
  'expires_at',
  'purchased_at',
  'machines_allowed',
  'quantity',
] as const;
export type ImportField = (typeof IMPORT_FIELDS)[number];

/** A column whose value is a yes or a no, and the status word that one of them means. */
type Flag = readonly [column: string, valueThatCounts: boolean, word: string];

/** How the rows of an export are read. */
export interface ExportFormat {
  /** The columns of each field. The first one that is not empty counts; of `status` all count. */
  readonly columns: Readonly<Partial<Record<ImportField, readonly string[]>>>;
  readonly flags?: readonly Flag[];
  /**
   * For the report only: a row with a transaction and without a value in these columns counts as one whose refund is unknown. With
   * `--map` of `status` no row does. Refunds themselves are read from `columns.status` and `flags`.
   */
  readonly refundColumns?: readonly string[];
  /** Whether an empty cell of `machines_allowed` means any number of machines. */
  readonly isEmptyLimitUnlimited?: boolean;
  /** Whether the export also lists sales without a license: a row without a key is then no license. */
  readonly listsSales?: boolean;
  /** Rows with a yes in this column repeat an earlier one, such as the later payments of a subscription. */
  readonly repeatColumn?: string;
  /** The type of the resources that are licenses, in a JSON:API document. */
  readonly resourceType?: string;
}

/**
 * The other systems from which licenses can be imported, and the formats of their exports.
 * docs/operations/license-import.md names the document from which each column is known.
 */
export const SYSTEMS = {
  lemonsqueezy: {
    resourceType: 'license-keys',
    columns: {
      previous_key: ['key', 'license key'],
      email: ['user email', 'customer email', 'email'],
      transaction_id: ['order id'],
      status: ['status', 'order.status'],
      expires_at: ['expires at'],
      purchased_at: ['created at'],
      machines_allowed: ['activation limit'],
    },
    flags: [
      ['disabled', true, 'disabled'],
      ['order.refunded', true, 'refunded'],
    ],
    refundColumns: ['order.status', 'order.refunded'],
    isEmptyLimitUnlimited: true,
  },
  gumroad: {
    listsSales: true,
    repeatColumn: 'Recurring Charge?',
    columns: {
      previous_key: ['License Key'],
      email: ['Giftee Email', 'Purchase Email', 'Buyer Email', 'Email'],
      transaction_id: ['Purchase ID'],
      expires_at: ['Subscription End Date'],
      purchased_at: ['Purchase Time (UTC timezone)', 'Purchase Date'],
      quantity: ['Quantity'],
    },
    flags: [
      ['Fully Refunded?', true, 'refunded'],
      ['Disputed?', true, 'disputed'],
      ['Dispute Won?', true, 'dispute won'],
      ['Access Revoked?', true, 'revoked'],
      ['License Key Enabled?', false, 'disabled'],
    ],
  },
  paddle: {
    listsSales: true,
    refundColumns: ['Order Status'],
    columns: {
      previous_key: ['License Code', 'License'],
      email: ['Customer Email'],
      transaction_id: ['Order ID', 'Transaction ID'],
      status: ['Order Status'],
      purchased_at: ['Date Sent'],
      quantity: ['Quantity'],
    },
  },
  keygen: {
    resourceType: 'licenses',
    columns: {
      previous_key: ['key'],
      email: ['owner.email', 'user.email', 'metadata.email'],
      transaction_id: ['metadata.transaction_id', 'metadata.order_id'],
      status: ['status'],
      expires_at: ['expiry'],
      purchased_at: ['created'],
      machines_allowed: ['max machines'],
    },
    flags: [['suspended', true, 'suspended']],
    isEmptyLimitUnlimited: true,
  },
} as const satisfies Record<string, ExportFormat>;
export type SystemName = keyof typeof SYSTEMS;

/** The format of a file that is not an export of these systems: `--map` names its columns. */
const ANY_FORMAT: ExportFormat = { columns: {} };

/**
 * Returns the format of a file. Names of columns are in the form of `columnName`, except those of yes and no, which messages quote.
 * @param system undefined if `--map` names all columns @param maps the columns of `--map`, which replace those of the system
 */
export function exportFormat(
  system: SystemName | undefined,
  maps: Readonly<Partial<Record<ImportField, string>>>,
): ExportFormat {
  const format: ExportFormat = system === undefined ? ANY_FORMAT : SYSTEMS[system];
  const names = {
    ...format.columns,
    ...Object.fromEntries(Object.entries(maps).map(([field, name]) => [field, [name]])),
  };
  return {
    ...format,
    columns: Object.fromEntries(Object.entries(names).map(([field, list]) => [field, list.map(columnName)])),
    refundColumns: maps.status === undefined ? format.refundColumns?.map(columnName) : undefined,
  };
}

/** Returns the names of all columns that are read, in the form of `columnName`. @param format the result of `exportFormat` */
export const columnsOf = ({
  columns,
  flags = [],
  refundColumns = [],
  repeatColumn,
}: ExportFormat): string[] => [
  ...Object.values(columns).flat(),
  ...flags.map(([column]) => columnName(column)),
  ...refundColumns,
  ...(repeatColumn === undefined ? [] : [columnName(repeatColumn)]),
];
