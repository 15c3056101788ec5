import type { AuditEvent } from './audit-trail.js';

const COLUMNS = [
  'at',
  'actor',
  'action',
  'license_id',
  'key_hint',
  'staff_email',
  'reason',
  'change',
  'id',
] as const satisfies readonly (keyof AuditEvent)[];

/** Without this mark, Excel does not read a file as UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';
const LINE_END = '\r\n';

/** A spreadsheet reads a cell that begins with one of these characters as a formula, which could send the other cells to a server. */
const FORMULA_START = /^[=+\-@\t\r]/;

/**
 * Writes the audit trail as CSV (RFC 4180, docs/operations/staff.md#audit-trail), a chunk for each batch. Labels of machines
 * are left out, because they are data of holders.
 */
export async function* auditCsv(batches: AsyncIterable<readonly AuditEvent[]>): AsyncGenerator<string, void> {
  yield BYTE_ORDER_MARK + csvLine(COLUMNS);
  for await (const events of batches) yield events.map((event) => csvLine(cellsOf(event))).join('');
}

const cellsOf = (event: AuditEvent) =>
  COLUMNS.map((name) => (name === 'change' ? JSON.stringify(event.change) : (event[name] ?? '')));

const csvLine = (cells: readonly string[]) => cells.map(csvCell).join(',') + LINE_END;

/** An apostrophe makes a spreadsheet show a cell as text. */
function csvCell(text: string): string {
  const safe = FORMULA_START.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
