import { once } from 'node:events';
import { request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import type pg from 'pg';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { auditCsv } from '../../src/support/audit/audit-csv.js';
import type { AuditEvent } from '../../src/http/responses/api-types.js';
import { Service } from '../support/harness.js';
import { whileGone, expectFailures } from '../support/tables.js';
import { signInStaff, type Browser } from './harness.js';

/** The number of entries that the export reads at once. */
const BATCH_ROWS = 500;
/** The number of entries with the action `test.large`. Their 16 MB are more than the buffers of a connection hold. */
const LARGE_ROWS = 20 * BATCH_ROWS;

let service: Service;
let support: Browser;
let authorization: string;
beforeAll(async () => {
  service = await Service.start();
  support = await signInStaff(service, 'support');
  authorization = `Bearer ${await service.staffToken('support')}`;
  await service.sql(
    `insert into audit_event (id, actor, action, reason, change, at)
     select gen_random_uuid(), 'mallory@vendor.example', 'test.large', repeat('x', 500), jsonb_build_object('text', repeat('y', 1000)),
       timestamptz '2026-01-01' + n * interval '1 second' from generate_series(1, ${LARGE_ROWS}) n`,
  );
});

const insertEvent = (reason: string | null, change: object = {}) =>
  service.sql(
    `insert into audit_event (id, actor, action, reason, change, at) values (gen_random_uuid(), 'cli', 'test.cell', $1, $2, '2026-11-20T13:00:00Z')`,
    [reason, change],
  );
const rowsOf = (csv: string): Record<string, string>[] =>
  parse(csv, { columns: true, bom: true, record_delimiter: '\r\n' });

/** Starts a download without reading it. */
async function startDownload(parameters: string): Promise<IncomingMessage> {
  const sent = request(`${service.url}/support/api/audit/export?${parameters}`, {
    headers: { authorization },
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

/** Starts to count the batches that the service reads. */
function watchBatches() {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  const isBatch = ([first]: unknown[]) => typeof first === 'string' && first.includes(`limit ${BATCH_ROWS}`);
  return {
    count: () => (query.mock.calls as unknown[][]).filter(isBatch).length,
    [Symbol.dispose]: () => query.mockRestore(),
  };
}

/** Resolves when the next response ends, or when its client closes the connection. */
const waitForNextResponseClose = () =>
  new Promise<void>((resolve) => {
    const server = service.app.getHttpServer() as Server;
    server.once('request', (_request, response: ServerResponse) => response.once('close', resolve));
  });

describe('the export of the audit trail', () => {
  test('needs a sign-in, and answers 500 without the table and 503 while it is locked', async () => {
    expect((await service.call('GET', '/support/api/audit/export')).status).toBe(401);
    const get = () => support.get('audit/export');
    await expectFailures(service, 'audit_event', get);
  });

  test('is a CSV file that is named by its day, in UTF-8 with a byte order mark, and with a header', async () => {
    service.clock.set('2026-11-25T23:30:00Z');
    support = await signInStaff(service, 'support');
    const response = await startDownload('action=staff.add');
    expect(response.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="audit-2026-11-25.csv"',
      'cache-control': 'no-store',
    });
    const csv = Buffer.from(
      await response.reduce((all, part) => Buffer.concat([all, part]), Buffer.alloc(0)),
    );
    expect(csv.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    expect(csv.toString()).toMatch(
      /^\uFEFFat,actor,action,license_id,key_hint,staff_email,reason,change,id\r\n/,
    );
    expect(csv.toString().endsWith('\r\n')).toBe(true);
  });

  test('has the entries that the page shows with the same filters, without the label of a machine', async () => {
    const license = await service.issue();
    const { activation } = (await service.activate(license, 'one', { hostname_hint: 'Studio Mac' })).json;
    await support.post(`activations/${activation.id}/release`, { reason: 'Sold, "as is"' });
    const query = `license_id=${license.license_id}`;
    const { events } = (await support.get(`audit?${query}`)).json;
    const { text: csv } = await support.get(`audit/export?${query}`);
    expect(rowsOf(csv)).toEqual(
      events.map((event: AuditEvent) => ({
        at: event.at,
        actor: event.actor,
        action: event.action,
        license_id: license.license_id,
        key_hint: license.license_key.slice(-2),
        staff_email: '',
        reason: event.reason,
        change: JSON.stringify(event.change),
        id: event.id,
      })),
    );
    expect(csv).not.toContain('Studio Mac');
    expect(rowsOf((await support.get(`audit/export?${query}&action=license.issue`)).text)).toHaveLength(1);
  });

  test('has every entry once, in the order of the page, over many batches', async () => {
    // Groups of forty entries have the same time.
    await service.sql(
      `insert into audit_event (id, actor, action, change, at)
       select gen_random_uuid(), 'cli', 'test.many', '{}', timestamptz '2026-01-01' + n / 40 * interval '1 microsecond'
       from generate_series(1, ${2 * BATCH_ROWS + 7}) n`,
    );
    const rows = rowsOf((await support.get('audit/export?action=test.many')).text);
    const stored = await service.sql<{ id: string }>(
      "select id from audit_event where action = 'test.many' order by at desc, id desc",
    );
    expect(rows.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
  });

  test('quotes cells as RFC 4180 requires, and has no cell that a spreadsheet reads as a formula', async () => {
    const reasons = [
      'a "quoted" word',
      'one, two',
      'one\r\ntwo',
      'ünïcödé 🦊',
      '<b>bold</b>',
      '\u202Eright to left',
      '',
    ];
    const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '\t1', '\r1', '=HYPERLINK("http://x.example","a")'];
    formulas.push(' =1+1', '＝1+1', '＋1', '－1', '＠SUM(A1)');
    for (const reason of [...reasons, ...formulas]) await insertEvent(reason);
    await insertEvent(null, { text: '=1, "2"' });
    // A spreadsheet that separates lists by semicolons splits the cell at them.
    await insertEvent('sold; =2+2;@A1');
    const csv = (await support.get('audit/export?action=test.cell')).text;
    const found = rowsOf(csv).map(({ reason }) => reason);
    const expected = [...reasons, ...formulas.map((formula) => `'${formula}`), "sold;' =2+2;'@A1", ''];
    expect(found.toSorted()).toEqual(expected.toSorted());
    expect(csv).toContain('"a ""quoted"" word"');
    expect(csv).toContain(`"'=HYPERLINK(""http://x.example"",""a"")"`);
    const changes = rowsOf(csv).map(({ change }) => JSON.parse(change!) as unknown);
    expect(changes).toContainEqual({ text: '=1, "2"' });
  });

  test('has only a header if no entry is selected', async () => {
    expect(rowsOf((await support.get('audit/export?action=test.none')).text)).toEqual([]);
  });

  test('answers HEAD without reading further batches', async () => {
    using batches = watchBatches();
    const { status, text: body } = await support.call('HEAD', 'audit/export?action=test.large');
    expect([status, body]).toEqual([200, '']);
    expect(batches.count()).toBeLessThanOrEqual(1);
  });

  test('reads no further batch after its client has closed the connection', async () => {
    using batches = watchBatches();
    const responseClosed = waitForNextResponseClose();
    const response = await startDownload('action=test.large');
    await once(response, 'readable');
    response.destroy();
    await responseClosed;
    const countAtClose = batches.count();
    expect(countAtClose).toBeGreaterThan(0);
    expect(countAtClose).toBeLessThan(LARGE_ROWS / BATCH_ROWS);
    // One more batch may have been started before the connection was closed, and the second export reads one.
    await support.get('audit/export?action=test.cell');
    expect(batches.count()).toBeLessThanOrEqual(countAtClose + 2);
  });

  test('closes the connection if a batch cannot be read, so that the file is not taken for complete', async () => {
    const linesBefore = service.logged.length;
    const response = await startDownload('action=test.large');
    await whileGone(service, 'audit_event', () => expect(text(response)).rejects.toThrow('aborted'));
    const lines = service.logged.slice(linesBefore).join('\n');
    expect(lines).toContain('audit trail not exported');
    expect(lines).not.toContain('mallory');
  });

  test('reads a batch only when the earlier one is sent, and stops reading when the stream is closed', async () => {
    let readCount = 0;
    let isEnded = false;
    const event: AuditEvent = {
      id: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
      at: '2026-11-20T13:00:00Z',
      actor: 'cli',
      action: 'license.set',
      license_id: null,
      key_hint: null,
      hostname_hint: null,
      staff_email: null,
      reason: 'x'.repeat(500),
      change: {},
    };
    async function* batches() {
      try {
        for (; ; yield Array.from({ length: BATCH_ROWS }, () => event)) readCount += 1;
      } finally {
        isEnded = true;
      }
    }
    const csv = Readable.from(auditCsv(batches()), { objectMode: false });
    await once(csv, 'readable');
    // This reads only the header. The stream then prepares the first batch, and no further one.
    csv.read();
    for (let turn = 0; turn < 1_000; turn += 1) await new Promise(setImmediate);
    expect(readCount).toBe(1);
    csv.destroy();
    await once(csv, 'close');
    expect(isEnded).toBe(true);
  });
});
