import type { AuditEvent } from '../../http/responses/api-types.js';

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

/**
 * The places at which a spreadsheet could read the start of a formula, which could send the other cells to a server:
 * - the start of a cell that begins with a tab or a carriage return;
 * - the start of a cell, if one of the signs `=`, `+`, `-` and `@` follows, also after white space. In Japanese, a spreadsheet also
 *   reads the wide forms of the signs;
 * - in the same way after a semicolon, a tab or a line end, at which a spreadsheet may split a cell, even in quotes.
 */
const FORMULA_STARTS = /^(?=[\t\r]|\s*[=+\-@＝＋－＠])|(?<=[;\t\r\n])(?=\s*[=+\-@＝＋－＠])/g;

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

/** An apostrophe makes a spreadsheet show what follows as text. */
function csvCell(text: string): string {
  const safe = text.replaceAll(FORMULA_STARTS, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
