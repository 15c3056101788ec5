import type { LicenseStatus } from '../licenses/license.rules.js';
import type { ExportedLicense } from './read-license.js';

/** How many refused rows a report lists. All of them are passed to the option `onRefused` of `importExport`. */
const MAX_LISTED_REFUSALS = 1_000;

/** A row that was not imported, and why. */
export interface RefusedRow {
  /** Where the row begins: `line 7`, or in a JSON file `line 3, item 17`. */
  readonly place: string;
  readonly reason: string;
}

/** What an import did, or would do. */
export interface ImportReport {
  readonly dry_run: boolean;
  /** The rows of the file without its header. The next six numbers add up to it. */
  readonly rows: number;
  readonly imported: number;
  /** Licenses that a report of the payment processor had issued for the same transaction, and that now have their previous key. */
  readonly linked: number;
  /** Rows of licenses that an earlier import, or an earlier run or batch of this one, has imported. */
  readonly already_imported: number;
  /**
   * Rows whose license is read from another row of the file: its first row, or a later one with a higher state of the purchase.
   */
  readonly repeated: number;
  readonly skipped: number;
  readonly refused: number;
  /** Rows whose transaction may have been refunded: the file does not say. Refused, skipped and repeated rows do not count. */
  readonly refund_unknown: number;
  readonly skipped_by_reason: Readonly<Record<string, number>>;
  /** The imported licenses by their status words in the file and the status that results from them and the purchase. */
  readonly statuses: readonly {
    readonly in_file: string;
    readonly becomes: LicenseStatus;
    readonly licenses: number;
  }[];
  /** The imported licenses that have no limit of machines in the file. */
  readonly without_machine_limit: number;
  readonly date_formats: Readonly<Record<string, number>>;
  /** The purchases in the database whose state the file raised, such as to `refunded`. */
  readonly raised_purchases: number;
  /** The mails with new keys that were queued. */
  readonly mails: number;
  /** The first 1,000 refused rows. */
  readonly refused_rows: readonly RefusedRow[];
}

const NO_TOTALS = {
  rows: 0, imported: 0, linked: 0, already_imported: 0, repeated: 0, skipped: 0, refused: 0, refund_unknown: 0, mails: 0,
}; // prettier-ignore

/** Counts the rows of an import. */
export class ReportCounter {
  readonly #totals = { ...NO_TOTALS };
  readonly #skipped = new Map<string, number>();
  readonly #statuses = new Map<string, number>();
  readonly #dateFormats = new Map<string, number>();
  readonly #refused: RefusedRow[] = [];
  #withoutLimit = 0;
  #raisedPurchases = 0;

  count(total: keyof typeof NO_TOTALS): void {
    this.#totals[total] += 1;
  }

  skip(reason: string): void {
    this.count('skipped');
    add(this.#skipped, reason);
  }

  refuse(row: RefusedRow): void {
    this.count('refused');
    if (this.#refused.length < MAX_LISTED_REFUSALS) this.#refused.push(row);
  }

  import(becomes: LicenseStatus, { words, dateFormats, isUnlimited }: ExportedLicense['read']): void {
    this.count('imported');
    add(this.#statuses, JSON.stringify([words.join(' + '), becomes]));
    for (const format of dateFormats) add(this.#dateFormats, format);
    if (isUnlimited) this.#withoutLimit += 1;
  }

  raisePurchases(count: number): void {
    this.#raisedPurchases += count;
  }

  report(isDryRun: boolean): ImportReport {
    const statuses = [...this.#statuses].map(([names, licenses]) => {
      const [in_file, becomes] = JSON.parse(names) as [string, LicenseStatus];
      return { in_file, becomes, licenses };
    });
    const { mails, ...totals } = this.#totals;
    return {
      dry_run: isDryRun,
      ...totals,
      skipped_by_reason: Object.fromEntries(this.#skipped),
      statuses: statuses.toSorted((a, b) => b.licenses - a.licenses),
      without_machine_limit: this.#withoutLimit,
      date_formats: Object.fromEntries(this.#dateFormats),
      raised_purchases: this.#raisedPurchases,
      mails,
      refused_rows: this.#refused,
    };
  }
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
