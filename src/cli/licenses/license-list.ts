import type { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { findLicenses, LICENSE_COLUMNS } from '../../activation/license-overview.js';
import type { LicenseView } from '../../http/responses/api-types.js';
import { queryRows } from '../../database/sql.js';
import { transactionIdField } from '../../fields/transaction-id.js';
import { STAFF_STATUSES, type LicenseStatus } from '../../licenses/license.rules.js';
import { LICENSE_STATUS } from '../../licenses/license-status.js';
import { cursorField, toCursor, type LicensePosition } from '../../support/licenses/license-cursor.js';
import { withDatabase } from '../context/command-context.js';
import { quoted } from '../completion/cases.js';
import { choiceOption, emailAddress, fieldOption, uuid, wholeNumber } from '../terminal/options.js';
import { aligned, print, withIdName } from '../terminal/output.js';

const DEFAULT_LIMIT = 50;

/** The options of a command that prints a list in pages. */
export interface PageOptions {
  readonly limit?: number;
  /** The position of the last license of the page before. */
  readonly cursor?: LicensePosition;
}

/** The conditions of a list: a license must meet all that are given. If none is given, the list has all licenses. */
interface LicenseFilter {
  readonly email?: string;
  readonly status?: LicenseStatus;
  readonly transaction?: string;
  readonly activation?: string;
}

/** A page of licenses, the newest first. */
interface LicensePage {
  readonly licenses: readonly LicenseView[];
  /** The cursor of the next page; null on the last one. */
  readonly next_cursor: string | null;
}

/** Adds `license list`. */
export function listCommand(license: Command): void {
  const list = license
    .command('list')
    .description('list licenses, the newest first')
    .option('--email <address>', 'only those of this holder', emailAddress('--email'))
    .addOption(
      choiceOption('--status <status>', 'only those with this status', [...STAFF_STATUSES, 'refunded']),
    )
    .option(
      '--transaction <id>',
      "only those of this purchase (the processor's transaction id)",
      fieldOption('--transaction', transactionIdField.parse),
    )
    .option('--activation <id>', 'only that of this activation', uuid('--activation'));
  addPageOptions(list).action(async (options: LicenseFilter & PageOptions, command: Command) => {
    const { licenses, next_cursor } = await withDatabase(({ dataSource }) =>
      readLicensePage(dataSource, options),
    );
    const summaries = licenses.map(({ activations: _activations, ...rest }) => withIdName('license', rest));
    const text =
      licenses.length > 0 ? aligned([HEAD, ...licenses.map(toRow)]) : 'There are no such licenses.';
    print(
      command,
      { licenses: summaries, next_cursor },
      text + nextPageText(['license', 'list'], options, next_cursor),
    );
  });
}

/** Adds `--limit` and `--cursor`. */
export function addPageOptions(command: Command): Command {
  return command
    .option(
      '--limit <n>',
      `how many to print at most (default: ${DEFAULT_LIMIT})`,
      wholeNumber('--limit', 1, 1_000),
    )
    .option(
      '--cursor <cursor>',
      'the next_cursor of the page before',
      fieldOption('--cursor', cursorField.parse),
    );
}

/** Reads a page of licenses, with keyset pagination: a license that is issued meanwhile does not shift the pages. */
export async function readLicensePage(
  dataSource: DataSource,
  filter: LicenseFilter & PageOptions,
): Promise<LicensePage> {
  const { email, status, transaction, activation, cursor, limit = DEFAULT_LIMIT } = filter;
  const rows = await queryRows<LicensePosition>(dataSource, SELECT_PAGE, [
    email ?? null,
    transaction ?? null,
    activation ?? null,
    status ?? null,
    cursor?.sort_key ?? null,
    cursor?.id ?? null,
    limit + 1,
  ]);
  const shown = rows.slice(0, limit);
  const ids = shown.map(({ id }) => id);
  const found = await findLicenses(dataSource, { ids });
  const licenses = found.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
  return { licenses, next_cursor: rows.length > limit ? toCursor(shown.at(-1)!) : null };
}

// `sort_key` is negative, so that ascending order is newest first, as in holder-licenses.ts, whose cursor it shares.
const SELECT_PAGE = `
  select id, sort_key from (
    select license.*, -extract(epoch from created_at) as sort_key from (
      select ${LICENSE_COLUMNS} from license l
      where ($1::text is null or l.email = $1)
        and ($2::text is null or l.purchase_id = (select id from purchase where transaction_id = $2))
        and ($3::uuid is null or l.id = (select license_id from activation where id = $3))
    ) license where $4::text is null or ${LICENSE_STATUS} = $4
  ) sorted
  where $5::numeric is null or sort_key > $5 or (sort_key = $5 and id < $6::uuid)
  order by sort_key, id desc limit $7`;

/**
 * Returns a line with the command for the next page; empty on the last page. It leaves out `--json`, with which this line is not
 * printed, and `--as`, because listing writes no audit event. @param words the command and its arguments
 */
export function nextPageText(words: readonly string[], options: object, cursor: string | null): string {
  if (cursor === null) return '';
  const given = Object.entries({ ...options, cursor })
    .filter(([name]) => !['json', 'as'].includes(name))
    .map(([name, value]) => `--${name} ${shellWord(String(value))}`);
  return `\n\nNext page: mooring ${[...words.map(shellWord), ...given].join(' ')}`;
}

/** Quotes a word if a shell would read it otherwise. */
export const shellWord = (text: string) => (/^[\w@.+:-]+$/.test(text) ? text : quoted(text));

const HEAD = ['License', 'Status', 'Key', 'Machines', 'Expires', 'E-mail'];

function toRow(view: LicenseView): string[] {
  const machines = `${view.machines_in_use} of ${view.machines_allowed}`;
  return [view.id, view.status, `…${view.key_hint}`, machines, view.expires_at ?? 'never', view.email ?? '-'];
}
