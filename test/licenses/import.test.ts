import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { licenseKeyHash } from '../../src/keys/license-key.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { Random } from '../client/random.js';
import { outbox } from '../erasure/harness.js';
import { CLI, Terminal, type Run } from '../support/processes/cli-harness.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { everyRow } from '../support/tables.js';
import { until } from '../support/until.js';
import { printedSeed } from '../support/seed.js';

const seed = printedSeed();

/** The commands run beside a running service, with the database and the data directory of this service. */
const service = await Service.start();
const terminal = Terminal.beside(service);

const random = new Random(seed);

/** A canonical key that another system could have issued. */
function newKey(): string {
  const symbol = () => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(random.below(32));
  const group = () => Array.from({ length: 4 }, symbol).join('');
  return `ACME_${Array.from({ length: 4 }, group).join('-')}`;
}

const newKeys = (count: number) => Array.from({ length: count }, newKey);
const HEADER = 'license_key,email';
const linesOf = (keys: readonly string[]) => keys.map((key, i) => `${key},user${i}@example.com`);

function importContent(content: string | Buffer | string[], ...args: string[]): Promise<Run> {
  return terminal.run(['license', 'import', writeCsv(content), ...args]);
}

/** Writes a file with this content. @returns its name */
function writeCsv(content: string | Buffer | string[]): string {
  const name = `${random.below(2 ** 32)}.csv`;
  writeFileSync(terminal.file(name), Array.isArray(content) ? `${content.join('\n')}\n` : content);
  return name;
}

const rowsOf = (keys: readonly string[]) =>
  service.sql(
    `select email, machines_allowed, expires_at, on_expiry, key_hint, key_generation, staff_status, purchase_id
     from license where key_hash = any($1) order by email`,
    [keys.map(licenseKeyHash)],
  );

/** The numbers of licenses and audit events. */
async function counts() {
  const [row] = await service.sql<{ licenses: number; auditEvents: number }>(
    `select (select count(*)::int from license) as licenses,
       (select count(*)::int from audit_event) as "auditEvents"`,
  );
  return row!;
}

/** Runs a command that must be refused and must change nothing. @returns the printed lines */
async function expectRefused(run: () => Promise<Run>): Promise<string[]> {
  const before = await counts();
  const { code, stdout, stderr } = await run();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(await counts()).toEqual(before);
  return stderr.replaceAll(`${terminal.dir}/`, '').trimEnd().split('\n');
}

describe('a file', () => {
  test('is imported as licenses, with one audit event and no mail', async () => {
    const before = await counts();
    const [a, b, c] = newKeys(3) as [string, string, string];
    const file = writeCsv([
      'Expires_At, EMAIL ,license_key,on_expiry,machines_allowed',
      `2030-01-04,Ada@Example.com,${a},keep,7`,
      `never,bob@example.com,${b},,`,
      `,eve@example.com,${c.toLowerCase()},,`,
    ]);
    const env = { DEFAULT_MACHINES_PER_LICENSE: '3', DEFAULT_ON_EXPIRY: 'stop' };
    const imported = await terminal.json(['license', 'import', file, '--as', 'grace'], { env });
    expect(imported).toEqual({ imported: 3 });
    const common = { key_generation: 1, staff_status: 'active', purchase_id: null };
    const defaults = { ...common, machines_allowed: 3, expires_at: null, on_expiry: 'stop' };
    const custom = { machines_allowed: 7, expires_at: new Date('2030-01-04T00:00:00Z'), on_expiry: 'keep' };
    expect(await rowsOf([a, b, c])).toEqual([
      { ...common, ...custom, email: 'ada@example.com', key_hint: a.slice(-2) },
      { ...defaults, email: 'bob@example.com', key_hint: b.slice(-2) },
      { ...defaults, email: 'eve@example.com', key_hint: c.slice(-2) },
    ]);
    const { licenses, auditEvents } = before;
    expect(await counts()).toEqual({ licenses: licenses + 3, auditEvents: auditEvents + 1 });
    expect(
      await service.sql(
        'select actor, action, license_id, reason, change from audit_event order by id desc limit 1',
      ),
    ).toEqual([
      { actor: 'grace', action: 'license.import', license_id: null, reason: null, change: { licenses: 3 } },
    ]);
    expect(await service.sql('select count(*)::int as jobs from graphile_worker._private_jobs')).toEqual([
      { jobs: 0 },
    ]);
  });

  test('that is imported is reported in one sentence on standard output without --json', async () => {
    const one = await importContent([HEADER, ...linesOf(newKeys(1))]);
    expect(one).toMatchObject({ code: 0, stdout: '1 license imported.\n', stderr: '' });
    expect((await importContent([HEADER, ...linesOf(newKeys(2))])).stdout).toBe('2 licenses imported.\n');
  });

  // A and B stand for keys.
  test.each([
    ['with a BOM', '\ufefflicense_key,email\nA,a@x.org\nB,b@x.org\n'],
    ['with a BOM and quotes', '\ufeff"license_key","email"\n"A","a@x.org"\nB,"b@x.org"\n'],
    ['with semicolons', 'license_key;email\nA;a@x.org\nB;b@x.org\n'],
    ['with CRLF', 'license_key,email\r\nA,a@x.org\r\nB,b@x.org\r\n'],
    ['with CR', 'license_key,email\rA,a@x.org\r\rB,b@x.org'],
    ['with line ends of all kinds', '\r\nlicense_key,email\nA,a@x.org\r\n\r\n\n\rB,b@x.org\r'],
    ['without a line end at the end', 'license_key,email\nA,a@x.org\nB,b@x.org'],
    ['with space around quotes', 'license_key,email\n "A" , "a@x.org" \nB, b@x.org\n'],
    ['with line ends in quotes', 'license_key,email\r\n"A\r\n","\r\na@x.org"\r\nB,"b@x.org\r\n"\r\n'],
    ['with empty rows', 'license_key,email\n,\nA,a@x.org\n" ",\nB,b@x.org\n,\n,\n'],
  ])('may be written %s', async (_what, content) => {
    const [a, b] = newKeys(2) as [string, string];
    const file = content.replaceAll(/\b[AB]\b/g, (name) => (name === 'A' ? a : b));
    expect(await importContent(file, '--json')).toMatchObject({ stderr: '', json: { imported: 2 } });
    expect(await rowsOf([a, b])).toMatchObject([{ email: 'a@x.org' }, { email: 'b@x.org' }]);
  });

  test.each([
    ['CR', '\r', 2_000],
    ['CR', '\r', 500],
    ['CRLF', '\r\n', 2_000],
  ])('of many lines may end them with %s (%j, %i lines)', async (_what, lineEnd, count) => {
    const keys = newKeys(count);
    const content = [HEADER, ...linesOf(keys)].join(lineEnd);
    // A row has at most 16 KiB, so the import would be refused if the file counted as one line.
    expect(content.length).toBeGreaterThan(16 * 1024);
    expect(await importContent(content, '--json')).toMatchObject({ stderr: '', json: { imported: count } });
    const result = await expectRefused(() => importContent(`${content}${lineEnd}x,x@y.z`, '--json'));
    // The keys exist since the first import, so each line has a fault. The first 20 are listed.
    expect(result.at(-2)).toBe(`… and ${count + 1 - 20} more`);
  });

  test.each([-1, 0, 1])(
    'is read in chunks of 64 KiB, and a CRLF at the end of a chunk is one line end: shifted by %i bytes',
    async (shift) => {
      const chunkSize = 64 * 1024;
      const [lines, more] = [linesOf(newKeys(1_300)), linesOf(newKeys(50))];
      const start = [HEADER, ...lines].join('\r\n');
      // The first rows are shorter than a chunk, and spaces fill it: the CR is the last byte of a chunk, or next to it.
      const padded = `${start.padEnd(chunkSize - 1 + shift)}\r\n`;
      const faulty = [...more, `${newKey()},no address`].join('\r\n');
      expect(await expectRefused(() => importContent(padded + faulty, '--json'))).toEqual([
        // The header and 1,350 rows precede this line.
        'line 1352: email must be an e-mail address of at most 254 characters',
        'Nothing was imported.',
      ]);
      const imported = { stderr: '', json: { imported: 1_350 } };
      expect(await importContent(padded + more.join('\r\n'), '--json')).toMatchObject(imported);
    },
  );

  test('is refused if it has a key that was replaced', async () => {
    const key = newKey();
    const file = [HEADER, ...linesOf([key])];
    expect((await importContent(file, '--json')).json).toEqual({ imported: 1 });
    const [license] = await service.sql<{ id: string }>('select id from license where key_hash = $1', [
      licenseKeyHash(key),
    ]);
    await service.app.get(LicensesService).rekey(license!.id, AUDIT_CONTEXT);
    for (const content of [file, [...file, `${newKey()},no address`]])
      expect((await expectRefused(() => importContent(content, '--json')))[0]).toBe(
        'line 2: a license has this key already, or had it until it was replaced',
      );
  });

  test('of more lines than two batches is imported completely, and only once', async () => {
    const keys = newKeys(5_000);
    const file = [HEADER, ...linesOf(keys)];
    expect((await importContent(file, '--json')).json).toEqual({ imported: 5_000 });
    const hashes = keys.map(licenseKeyHash);
    const sql = 'select count(distinct id)::int as licenses from license where key_hash = any($1)';
    expect(await service.sql(sql, [hashes])).toEqual([{ licenses: 5_000 }]);
    const result = await expectRefused(() => importContent(file, '--json'));
    expect(result[0]).toBe('line 2: a license has this key already, or had it until it was replaced');
    expect(result.slice(19)).toEqual([
      'line 21: a license has this key already, or had it until it was replaced',
      '… and 4980 more',
      'Nothing was imported.',
    ]);
  });
});

describe('an import is refused as a whole:', () => {
  const row = `${newKey()},ada@example.com\n`;
  const noLicenses = 'The file holds no licenses.';
  const knownColumns = 'known are license_key, email, machines_allowed, expires_at, on_expiry.';
  const missingColumns =
    'The first line must name the columns license_key and email, with commas or semicolons between. ' +
    'The file of another system needs --from or --map (docs/operations/license-import.md).';
  const wrongQuote = 'a quotation mark is missing or out of place.';
  const longRow = 'this row is longer than 16 KiB; look for a quotation mark that is not closed.';
  const wrongEncoding = 'this is not UTF-8; save the file in that encoding.';
  // The test replaces F by the name of the file.
  test.each<[what: string, sentence: string, content: string | Buffer]>([
    ['an empty file', missingColumns, ''],
    ['a file of empty lines', missingColumns, '\n\r\n\n'],
    ['a file without a header', missingColumns, row + row],
    ['a file with only a header', noLicenses, `${HEADER}\n`],
    ['a header and empty lines', noLicenses, `${HEADER}\r\n\r\n,\r\n`],
    ['an unknown column', `The column Note is unknown; ${knownColumns}`, `${HEADER},Note\n${row}`],
    ['a column twice', 'The column email is named twice.', `${HEADER},EMAIL\n${row}`],
    ['a file in UTF-16', `F, line 1: ${wrongEncoding}`, Buffer.from(`\ufeff${HEADER}\n${row}`, 'utf16le')],
    [
      'a file in Latin-1, and the first line that is not UTF-8 is named',
      `F, line 2003: ${wrongEncoding}`,
      Buffer.from(`${HEADER}\r\n${row.repeat(2001)}${newKey()},j\u00fcrgen@example.com\n${row}`, 'latin1'),
    ],
    [
      'a truncated character',
      `F, line 2: ${wrongEncoding}`,
      Buffer.from(`${HEADER}\na\u00fc`).subarray(0, -1),
    ],
    ['a quote that never ends', `F, line 4: ${wrongQuote}`, `${HEADER}\n\n${row}"${row}${row}`],
    [
      'a quote that ends thousands of lines below',
      `F, line 3: ${longRow}`,
      `${HEADER}\n${row}"${row.repeat(5000)}",a@b.c\n`,
    ],
    ['text after a quote', `F, line 3: ${wrongQuote}`, `${HEADER}\n${row}"${newKey()}"x,a@b.c\n`],
    ['a quote within text', `F, line 2: ${wrongQuote}`, `${HEADER}\n${newKey()},a"b"@c.d\n`],
    ['a line that is too long', `F, line 3: ${longRow}`, `${HEADER}\n${row}${'x'.repeat(200_000)}\n${row}`],
  ])('%s', async (_what, sentence, content) => {
    const file = writeCsv(content);
    const result = await expectRefused(() => terminal.run(['license', 'import', file, '--json']));
    expect(result).toEqual([sentence.replace('F,', `${file},`)]);
  });

  test('a file whose last line has a gigabyte, without reading it completely', async () => {
    const file = writeCsv(`${HEADER}\n${row}`);
    truncateSync(terminal.file(file), 2 ** 30);
    const result = await expectRefused(() => terminal.run(['license', 'import', file, '--json']));
    expect(result).toEqual([`${file}, line 3: ${longRow}`]);
  });

  test.each([
    ['does not exist', 'none.csv', 'none.csv does not exist.'],
    ['is a folder', '.', 'F is not a file.'],
  ])('a file that %s', async (_what, file, sentence) => {
    const result = await expectRefused(() => terminal.run(['license', 'import', file, '--json']));
    expect(result).toEqual([sentence.replace('F', terminal.dir)]);
  });
});

test('faults are reported by line and column, without keys and addresses', async () => {
  const [a, b, taken] = newKeys(3) as [string, string, string];
  await importContent([HEADER, `${taken},old@example.com`]);
  const file = [
    'license_key;email;machines_allowed;expires_at;on_expiry',
    `${a};first@example.com;;;`,
    '',
    `${b.slice(0, -1)};second@example.com;;;`,
    `${newKey()};third.example.com;0;;`,
    ` ${a.toLowerCase()} ;fourth@example.com;;;`,
    `"${newKey()}`,
    `";fifth@example.com;;04.01.2030;Stop`,
    `${newKey()};sixth@example.com`,
    `;seventh@example.com;;;`,
    `"${taken}";old@example.com;;;`,
    `${taken};eighth@example.com;x;;`,
    `${newKey()};;;;`,
  ];
  expect(await expectRefused(() => importContent(file.join('\r\n'), '--json'))).toEqual([
    'line 4: license_key must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX',
    'line 5: email must be an e-mail address of at most 254 characters',
    'line 5: machines_allowed must be a whole number from 1 to 100000',
    'line 6: this key is already in line 2 (O counts as 0, I and L as 1)',
    'line 7: expires_at must be a day such as 2027-01-04 or a time such as 2027-01-04T12:00:00Z, or never',
    'line 7: on_expiry must be one of keep, stop',
    'line 9: the number of cells must be 5, as in the header',
    'line 10: license_key is missing',
    'line 11: a license has this key already, or had it until it was replaced',
    'line 12: machines_allowed must be a whole number from 1 to 100000',
    'line 12: this key is already in line 11 (O counts as 0, I and L as 1)',
    'line 13: email is missing',
    'Nothing was imported.',
  ]);
});

/** Inserts a license with this key, for which a concurrent import of the key waits. */
const INSERT_KEY = `insert into license (id, key_hash, key_hint, machines_allowed, on_expiry, created_at)
  values (gen_random_uuid(), $1, 'ZZ', 1, 'keep', now())`;

describe('concurrent imports', () => {
  test('with the same keys: one is done completely, and the other is refused and changes nothing', async () => {
    const before = await counts();
    const keys = newKeys(12_000);
    const file = (owner: string, order: readonly string[]) =>
      writeCsv([HEADER, ...order.map((key) => `${key},${owner}@example.com`)]);
    const files = [
      file('one', [...keys, ...newKeys(50)]),
      file('two', [...newKeys(50), ...keys.toReversed()]),
    ];
    const runs = await Promise.all(files.map((name) => terminal.run(['license', 'import', name, '--json'])));
    const [done, refused] = runs.toSorted((a, b) => a.code! - b.code!) as [Run, Run];
    expect(done).toMatchObject({ code: 0, stderr: '', json: { imported: 12_050 } });
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/ more\nNothing was imported\.\n$/),
    });
    expect(refused.stderr).toMatch(
      /^(line \d+: a license has this key already, or had it until it was replaced\n){20}… and 11980 more\n/,
    );
    const { licenses, auditEvents } = before;
    expect(await counts()).toEqual({ licenses: licenses + 12_050, auditEvents: auditEvents + 1 });
    const owners = await service.sql('select distinct email from license where key_hash = any($1)', [
      keys.map(licenseKeyHash),
    ]);
    expect(owners).toEqual([{ email: runs[0] === done ? 'one@example.com' : 'two@example.com' }]);
  });

  test.each([
    ['commit', 'the import is refused'],
    ['rollback', 'the import is done'],
  ])(
    'with a key that another transaction is inserting: after the %s of that transaction %s, and requests are answered meanwhile',
    async (end) => {
      const keys = newKeys(3);
      const other = await service.database.connect();
      try {
        await other.query('begin');
        await other.query(INSERT_KEY, [licenseKeyHash(keys[1]!)]);
        const run = importContent([HEADER, ...linesOf(keys)], '--json');
        await waitForRow(
          `select 1 from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into license%'`,
        );
        expect((await service.activate(await service.issue())).status).toBe(201);
        await other.query(end);
        const result =
          'line 3: a license has this key already, or had it until it was replaced\nNothing was imported.\n';
        expect(await run).toMatchObject(
          end === 'commit' ? { code: 1, stdout: '', stderr: result } : { code: 0, json: { imported: 3 } },
        );
        expect(await rowsOf(keys)).toHaveLength(end === 'commit' ? 1 : 3);
      } finally {
        other.release();
      }
    },
  );
});

test('an import that is killed changes nothing, and the next one is done completely', async () => {
  const before = await counts();
  const keys = newKeys(60_000);
  const file = writeCsv([HEADER, ...linesOf(keys)]);
  // The import waits at its last line, so it has inserted most rows, and cannot end before it is killed.
  const lastKey = licenseKeyHash(keys.at(-1)!);
  const other = await OpenTransaction.begin(service, INSERT_KEY, [lastKey]);
  const child = terminal.start(CLI, ['license', 'import', file]);
  const exited = once(child, 'exit');
  await other.untilWaiting(exited);
  child.kill('SIGKILL');
  await exited;
  await other.query('delete from license where key_hash = $1', [lastKey]);
  await other.commit();
  await waitForRow(
    `select 1 where not exists (select 1 from pg_locks where relation = 'license'::regclass and pid in
       (select pid from pg_stat_activity where datname = current_database() and application_name = 'mooring (maintenance)'))`,
  );
  expect([child.exitCode, await counts()]).toEqual([null, before]);
  expect(await terminal.json(['license', 'import', file])).toEqual({ imported: 60_000 });
});

describe('an imported license', () => {
  const email = 'holder@example.com';
  let license_key: string;
  let license_id: string;
  beforeAll(async () => {
    // The last group has 0 and 1, for which people type O and L, and U, which no key of this service has.
    license_key = newKey().replace(/.{4}$/, '01UU');
    await importContent([HEADER, `${license_key},${email}`]);
    license_id = (await terminal.json(['license', 'show', license_key])).license_id;
  });

  test('activates with its key, also in lower case and with look-alike characters', async () => {
    const spelled = ` ${license_key.toLowerCase().replace(/01uu$/, 'oluu')}`;
    expect((await service.activate({ license_key: spelled, email: 'Holder@Example.com' })).status).toBe(201);
    expect((await service.activate({ license_key, email: 'other@example.com' })).status).toBe(422);
  });

  test('has a key that cannot be mailed until it is replaced', async () => {
    expect(await expectRefused(() => terminal.run(['license', 'send-key', license_id, '--json']))).toEqual([
      'The service cannot make this key again: only its holder has it, so it cannot be mailed. Support can replace it with a new one.',
    ]);
    const rekeyed = await terminal.json(['license', 'rekey', license_id, '--reason', 'lost']);
    // This machine has been active since the previous test.
    expect((await service.activate({ ...rekeyed, email })).status).toBe(200);
    // No license has the replaced key now, and its check symbol is wrong, so it is reported as mistyped.
    expect((await service.activate({ license_key, email }, 'another machine')).status).toBe(422);
    await until(async () => (await outbox(service)).some(({ text }) => text.includes(rekeyed.license_key)));
    expect(await terminal.json(['license', 'send-key', license_id])).toEqual({ license_id, mailed: true });
  });

  test('has the prefix of the service if the key in the file has a look-alike of it', async () => {
    const symbols = newKey().slice('ACME_'.length);
    const [canonical, typed] = [`MOOR_${symbols}`, `M00R_${symbols}`];
    await importContent([HEADER, `${typed},prefix@example.com`]);
    expect(await rowsOf([canonical])).toMatchObject([{ email: 'prefix@example.com' }]);
    for (const license_key of [canonical, typed])
      expect((await service.activate({ license_key, email: 'prefix@example.com' })).status).toBeLessThan(300);
  });

  test('has its key in no table and no log, in any form but the hash by which the service finds the license', async () => {
    const [key] = newKeys(1) as [string];
    await importContent([HEADER, `${key},leak@example.com`]);
    await expectRefused(() => importContent([HEADER, `${key},leak@example.com`]));
    const symbols = key.slice(5).replaceAll('-', '');
    // The key, the key without its prefix, its symbols, and its symbols without the two of the stored hint.
    const forms = [key, key.slice(5), symbols, symbols.slice(0, 14)].flatMap(formsOfText);
    const search = new LeakSearch(forms.filter(({ what }) => !what.startsWith('sha256 of ACME')));
    const rows = await everyRow(service.database);
    expect([...search.in([...rows, ...service.logged].join('\n'))]).toEqual([]);
    expect([...search.in(`${HEADER}\n${key}`)]).toContain(key);
  });
});

/** Waits until a query has a row. */
const waitForRow = (sql: string, ...values: unknown[]) =>
  until(async () => (await service.sql(sql, values)).length > 0);
