import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, jest, test } from '@jest/globals';
import { Command } from 'commander';
import { importExportFile } from '../../src/cli/licenses/export-import.js';
import { Service } from '../support/harness.js';
import { Terminal, type Run } from '../support/processes/cli-harness.js';
import { GUMROAD, KEYGEN, LEMON_SQUEEZY, PADDLE } from './exports-of-other-systems.js';

const service = await Service.start();
const terminal = Terminal.beside(service);

let files = 0;
/** Writes a file with this content. @returns its name */
function write(content: string, extension = 'csv'): string {
  const name = `${(files += 1)}.${extension}`;
  writeFileSync(terminal.file(name), content);
  return name;
}

const importFile = (name: string, ...args: string[]): Promise<Run> =>
  terminal.run(['license', 'import', name, ...args, '--json']);
const licensesOf = (domain: string) =>
  service.sql(
    `select l.email, l.previous_key_hint, l.staff_status, l.machines_allowed, l.expires_at, l.created_at, l.on_expiry,
       l.ended_at is not null as ended, l.new_key_mailed_at is not null as mailed, p.transaction_id, p.state, p.paid, p.email as buyer
     from license l left join purchase p on p.id = l.purchase_id where l.email like $1 order by l.email, l.previous_key_hint`,
    [`%@${domain}`],
  );
const mails = () =>
  service.sql<{ about: string }>(
    `select split_part(key, ' ', 2) as about from graphile_worker._private_jobs where key like 'license_key_imported %'`,
  );

test('a page of the API of Lemon Squeezy is imported with its orders', async () => {
  const { code, json } = await importFile(write(LEMON_SQUEEZY, 'json'), '--from', 'lemonsqueezy');
  expect({ code, json }).toMatchObject({
    code: 0,
    json: {
      rows: 4,
      imported: 4,
      refused: 0,
      mails: 1,
      without_machine_limit: 3,
      refund_unknown: 1,
      refused_file: null,
    },
  });
  expect(json.statuses).toEqual([
    { in_file: 'active + refunded', becomes: 'refunded', licenses: 2 },
    { in_file: 'active', becomes: 'active', licenses: 1 },
    { in_file: 'disabled + paid', becomes: 'suspended', licenses: 1 },
  ]);
  const common = {
    expires_at: null,
    created_at: new Date('2021-05-24T14:15:07Z'),
    on_expiry: 'keep',
    paid: true,
  };
  const refunded = {
    ...common, email: 'bob@lemon.example', buyer: 'bob@lemon.example', staff_status: 'active', machines_allowed: 100_000, ended: true,
    mailed: false, transaction_id: '2', state: 'refunded',
  }; // prettier-ignore
  expect(await licensesOf('lemon.example')).toEqual([
    {
      ...common, email: 'ada@lemon.example', buyer: 'ada@lemon.example', previous_key_hint: '8ABE', staff_status: 'active',
      machines_allowed: 5, ended: false, mailed: true, transaction_id: '1', state: 'paid',
    },
    { ...refunded, previous_key_hint: '0002' },
    { ...refunded, previous_key_hint: '0003' },
    {
      ...common, email: 'eve@lemon.example', buyer: 'eve@lemon.example', previous_key_hint: '0004', staff_status: 'suspended',
      machines_allowed: 100_000, ended: false, mailed: false, transaction_id: '4', state: 'paid',
    },
  ]); // prettier-ignore
});

test('an order of Lemon Squeezy is also found by the attribute order_id; a dry run counts the rows whose order is not in the file', async () => {
  // The addresses, orders and keys are others as well, so that no license is imported already.
  const withoutRelation = (text: string) =>
    text
      .replaceAll('"relationships"', '"others"')
      .replaceAll('@lemon', '@orders')
      .replaceAll('"order_id": ', '"order_id": 9')
      .replaceAll('"id": "', '"id": "9')
      .replaceAll('-c796-', '-d796-');
  const dry = await terminal.run([
    'license', 'import', write(withoutRelation(LEMON_SQUEEZY), 'json'), '--from', 'lemonsqueezy', '--dry-run',
  ]); // prettier-ignore
  expect(dry.code).toBe(0);
  expect(dry.stdout).toMatch(/active \+ refunded +2 become refunded\n/);
  expect(dry.stdout).toMatch(
    /^Refund status unknown +1: the file does not have the status of their orders$/m,
  );
});

test('the sales export of Gumroad is imported without later payments, other products and the totals', async () => {
  const { code, json } = await importFile(
    write(GUMROAD),
    '--from',
    'gumroad',
    '--machines',
    '2',
    '--on-expiry',
    'stop',
  );
  expect({ code, json }).toMatchObject({
    code: 0,
    json: {
      rows: 6, imported: 3, skipped: 3, mails: 1,
      skipped_by_reason: { 'no license key: a sale of something else': 2, 'a later payment for a license of the file': 1 },
      date_formats: { 'YYYY-MM-DD hh:mm with its zone': 2, 'YYYY-MM-DD': 1 },
    },
  }); // prettier-ignore
  expect(await licensesOf('gumroad.example')).toMatchObject([
    { email: '+eve@gumroad.example', staff_status: 'suspended', state: 'paid', machines_allowed: 2 },
    {
      email: 'ada@gumroad.example',
      machines_allowed: 4,
      on_expiry: 'stop',
      transaction_id: 'a==',
      mailed: true,
    },
    { email: 'bob@gumroad.example', state: 'refunded', ended: true, mailed: false },
  ]);
});

describe('the report of Paddle', () => {
  test('is imported for one product; a row with an ambiguous date is refused, and can be corrected and imported', async () => {
    const name = write(PADDLE);
    const only = ['--from', 'paddle', '--only', 'Product Name=My App'];
    const first = await importFile(name, ...only);
    const reason =
      'purchased_at may be in either of two months: give the order of day and month with --dates mdy or dmy';
    expect(first).toMatchObject({ code: 1, stderr: `line 3: ${reason}\nOne row was refused.\n` });
    expect(first.json).toMatchObject({
      imported: 1,
      refused: 1,
      skipped_by_reason: { 'not selected by --only': 1 },
      refused_rows: [{ place: 'line 3', reason }],
      refused_file: terminal.file(`${name}.refused.csv`),
    });
    const refused = `${name}.refused.csv`;
    expect(statSync(terminal.file(refused)).mode & 0o777).toBe(0o600);
    expect(readFileSync(terminal.file(refused), 'utf8').split('\n')).toEqual([
      'Order ID,Product ID,Product Name,Customer Email,License Code,Date Sent,Paddle Issued License,Paddle License ID,refused',
      `1002-2002,5,My App,bob@paddle.example,ABCDEF02-23456789-ABCDEF02,03/04/2023,1,8,${reason}`,
      '',
    ]);
    // The file of refused rows may have been corrected, so another import of the first file does not replace it.
    expect(await importFile(name, ...only, '--refused', refused)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${terminal.file(refused)} exists already, and is not overwritten: give another name with --refused.\n`,
    });
    const content = readFileSync(terminal.file(refused), 'utf8');
    for (const number of [2, 3]) {
      const next = terminal.file(`${name}.refused.${number}.csv`);
      expect((await importFile(name, ...only)).json).toMatchObject({ refused: 1, refused_file: next });
      expect(readFileSync(next, 'utf8')).toBe(content);
    }
    expect(readFileSync(terminal.file(refused), 'utf8')).toBe(content);
    expect(await importFile(refused, '--from', 'paddle', '--dates', 'mdy')).toMatchObject({
      code: 0,
      json: { imported: 1 },
    });
    rmSync(terminal.file(refused));
    expect(await importFile(name, ...only, '--dates', 'mdy')).toMatchObject({
      code: 0,
      json: { imported: 0, already_imported: 2 },
    });
    expect(await licensesOf('paddle.example')).toMatchObject([
      {
        email: 'ada@paddle.example',
        previous_key_hint: 'EF01',
        transaction_id: '1001-2001',
        created_at: new Date('2023-05-01T10:00:00Z'),
      },
      { email: 'bob@paddle.example', created_at: new Date('2023-03-04T00:00:00Z') },
    ]);
  });
});

test('the licenses of Keygen have the addresses of their users; a row without one is refused', async () => {
  const name = write(KEYGEN, 'json');
  const { code, json, stderr } = await importFile(name, '--from', 'keygen', '--no-mail');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'line 2, item 3: email is missing\nOne row was refused.\n',
  });
  expect(json).toMatchObject({ imported: 2, refused: 1, mails: 0 });
  expect(await licensesOf('keygen.example')).toMatchObject([
    {
      email: 'ada@keygen.example',
      machines_allowed: 2,
      transaction_id: null,
      expires_at: new Date('2027-09-09T21:16:13Z'),
      mailed: false,
    },
    { email: 'bob@keygen.example', staff_status: 'suspended', machines_allowed: 100_000 },
  ]);
  const refused = JSON.parse(readFileSync(terminal.file(`${name}.refused.json`), 'utf8')) as Record<
    string,
    string
  >;
  expect(refused).toMatchObject({
    id: 'l3',
    key: 'C1B6DE-39A6E3-DE1529-8559A0-4AF595-V3',
    refused: 'email is missing',
  });
  const corrected = write(JSON.stringify({ ...refused, 'owner.email': 'eve@keygen.example' }), 'json');
  expect(await importFile(corrected, '--from', 'keygen', '--no-mail')).toMatchObject({
    code: 0,
    json: { imported: 1 },
  });
});

test('--send mails the new keys that --no-mail did not, once, at the given pace and after all other mails', async () => {
  const send = (...args: string[]) => terminal.json(['license', 'import', '--send', ...args]);
  const before = (await mails()).map(({ about }) => about);
  expect(await send('--dry-run')).toEqual({ dry_run: true, mails: 2 });
  expect((await terminal.run(['license', 'import', '--send', '--dry-run'])).stdout).toBe(
    '2 mails with new keys of all earlier imports would be queued. The service sends 120 a minute.\n',
  );
  // No mail was added. The service may have sent some of them meanwhile.
  expect(before).toEqual(expect.arrayContaining((await mails()).map(({ about }) => about)));
  // A trigger records the mails, because the service may send the first one before the test reads it.
  await service.sql(`create table queued_mail (priority int, run_at timestamptz)`);
  await service.sql(`create function record_queued_mail() returns trigger language plpgsql as
    'begin insert into queued_mail values (new.priority, new.run_at); return new; end'`);
  await service.sql(`create trigger record_queued_mail before insert on graphile_worker._private_jobs
    for each row when (new.key like 'license_key_imported %') execute function record_queued_mail()`);
  expect(await send('--mails-per-minute', '60', '--as', 'grace')).toEqual({ dry_run: false, mails: 2 });
  expect(await send()).toEqual({ dry_run: false, mails: 0 });
  expect(
    await service.sql("select actor, change from audit_event where action = 'license.send_keys'"),
  ).toEqual([{ actor: 'grace', change: { mails: 2 } }]);
  await service.sql('drop trigger record_queued_mail on graphile_worker._private_jobs');
  const added = await service.sql<{ priority: number; run_at: Date }>(
    'select * from queued_mail order by run_at',
  );
  expect(added.map(({ priority }) => priority)).toEqual([1, 1]);
  expect(added[1]!.run_at.getTime() - added[0]!.run_at.getTime()).toBe(1_000);
});

test('any other file is read with --map', async () => {
  const name = write(
    'Serial\tContact\tNr\tSeats\nSERIAL-0001-ABCD\tada@own.example\tT 1\t2\nSERIAL-0002-ABCD\tbob@own.example\tT2\t4\n',
  );
  const map = ['Serial=previous_key', 'contact=email', 'Nr=transaction_id', 'Seats=machines_allowed'].flatMap(
    (m) => ['--map', m],
  );
  const { code, json, stderr } = await importFile(name, ...map);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      'line 2: transaction_id must be a string of 1 to 200 characters, without spaces or control characters\nOne row was refused.\n',
  });
  expect(json).toMatchObject({ imported: 1 });
  expect(await licensesOf('own.example')).toMatchObject([
    { email: 'bob@own.example', machines_allowed: 4, transaction_id: 'T2' },
  ]);
});

test('rows without a transaction, as a database exports them, have nothing in common: a refund ends only its own license', async () => {
  const rows = ['NO-SALE-0001,1@no-sale.example,NULL,paid', 'NO-SALE-0002,2@no-sale.example,NULL,refunded'];
  const maps = ['key=previous_key', 'email=email', 'order=transaction_id', 'status=status'];
  await importFile(
    write(['key,email,order,status', ...rows, ''].join('\n')),
    ...maps.flatMap((map) => ['--map', map]),
  );
  expect(await licensesOf('no-sale.example')).toMatchObject([
    { email: '1@no-sale.example', transaction_id: null, ended: false, mailed: true },
    { email: '2@no-sale.example', transaction_id: null, ended: true, mailed: false },
  ]);
});

test('a number of a JSON file that JavaScript would round is read as it is written', async () => {
  const name = write(
    '{"key":"ROUND-KEY-0001","email":"ada@round.example","order":12345678901234567891,"seats":2}',
    'json',
  );
  const map = ['key=previous_key', 'email=email', 'order=transaction_id', 'seats=machines_allowed'].flatMap(
    (m) => ['--map', m],
  );
  expect(await importFile(name, ...map)).toMatchObject({ code: 0, json: { imported: 1 } });
  expect(await licensesOf('round.example')).toMatchObject([
    { transaction_id: '12345678901234567891', machines_allowed: 2 },
  ]);
});

test('a column that --map or --only names must be in some row of a JSON file', async () => {
  const name = write(
    '{"key":"JSON-KEY-0001","email":"ada@json.example"}\n{"key":"JSON-KEY-0002","email":"bob@json.example","info":{"ends":"2020-01-01"}}',
    'json',
  );
  const map = ['--map', 'key=previous_key', '--map', 'email=email'];
  for (const typo of [
    ['--map', 'info.end=expires_at'],
    ['--only', 'info.end=2020-01-01'],
  ])
    expect(await importFile(name, ...map, ...typo)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\.json has no column info\.end, which --map or --only names\.\n$/),
    });
  expect(await licensesOf('json.example')).toEqual([]);
  expect(await importFile(name, ...map, '--map', 'info.ends=expires_at')).toMatchObject({
    code: 0,
    json: { imported: 2 },
  });
  expect(await licensesOf('json.example')).toMatchObject([
    { expires_at: null },
    { expires_at: new Date('2020-01-01') },
  ]);
  expect(await importFile(write('[]', 'json'), ...map)).toMatchObject({ code: 0, json: { imported: 0 } });
});

test('--dry-run reports the same as the import, and changes nothing', async () => {
  const name = write(
    PADDLE.replaceAll('ABCDEF0', 'FEDCBA0')
      .replaceAll('@paddle', '@dry')
      .replaceAll(/100(\d)-/g, '900$1-'),
  );
  const counts =
    'select (select count(*)::int from license) as l, (select count(*)::int from purchase) as p, (select count(*)::int from audit_event) as a';
  const before = await service.sql(counts);
  const queued = (await mails()).map(({ about }) => about);
  const dry = await importFile(name, '--from', 'paddle', '--dry-run');
  expect(await service.sql(counts)).toEqual(before);
  // No mail was added. The service may have sent some of them meanwhile.
  expect(queued).toEqual(expect.arrayContaining((await mails()).map(({ about }) => about)));
  expect(existsSync(terminal.file(`${name}.refused.csv`))).toBe(false);
  const real = await importFile(name, '--from', 'paddle');
  expect([dry.code, dry.stderr]).toEqual([real.code, real.stderr]);
  expect({ ...dry.json, dry_run: false, refused_file: expect.anything() }).toEqual(real.json);
});

test('--dry-run counts keys of one transaction in different batches as the import does', async () => {
  for (const transaction of ['sold', 'paid'])
    await terminal.json([
      'purchase', 'record', '--transaction', transaction, '--status', 'paid', '--email', 'ada@batches.example',
    ]); // prettier-ignore
  const row = (number: number, transaction = '', status = 'active') =>
    `BATCHES-KEY-${number},ada@batches.example,${transaction},${status}`;
  const others = Array.from({ length: 2_000 }, (_, i) => row(10_000 + i));
  const rows = [
    row(1, 'sold'), row(2, 'paid', 'refunded'), row(3, 'new'), ...others,
    row(4, 'sold'), row(5, 'paid', 'refunded'), row(6, 'new', 'refunded'),
  ]; // prettier-ignore
  const name = write(['key,email,order,status', ...rows, ''].join('\n'));
  const map = ['key=previous_key', 'email=email', 'order=transaction_id', 'status=status'];
  const args = [...map.flatMap((each) => ['--map', each]), '--no-mail'];
  const dry = await importFile(name, ...args, '--dry-run');
  const real = await importFile(name, ...args);
  expect(real.json).toMatchObject({
    rows: 2_006,
    imported: 2_004,
    linked: 2,
    raised_purchases: 2,
    refused: 0,
  });
  expect({ ...dry.json, dry_run: false }).toEqual(real.json);
});

test('the report has the state of the purchase for each key of a transaction, and no key of a disputed purchase is mailed', async () => {
  const map = ['key=previous_key', 'email=email', 'order=transaction_id', 'status=status'];
  const importRows = async (...rows: string[]) => {
    const name = write(['key,email,order,status', ...rows, ''].join('\n'));
    const args = map.flatMap((each) => ['--map', each]);
    const dry = await importFile(name, ...args, '--dry-run');
    const real = await importFile(name, ...args);
    expect({ ...dry.json, dry_run: false }).toEqual(real.json);
    return real.json;
  };
  const suspended = (in_file: string) => ({ in_file, becomes: 'suspended', licenses: 1 });
  const row = (number: number, status: string) => `KEYS-OF-ONE-${number},ada@one.example,one,${status}`;
  expect(await importRows(row(1, 'paid'), row(2, 'disputed'))).toMatchObject({
    imported: 2,
    statuses: [suspended('paid'), suspended('disputed')],
    mails: 0,
  });
  expect(await importRows(row(3, 'paid'))).toMatchObject({ statuses: [suspended('paid')], mails: 0 });
  expect((await licensesOf('one.example')).map(({ mailed }) => mailed)).toEqual([false, false, false]);
});

test('a row with more cells than the header is refused and written whole; one with fewer cells is read', async () => {
  const name = write(
    'key,name,email,note\nCELLS-KEY-0001,Smith, Ada,ada@cells.example,\nCELLS-KEY-0002,Bob,bob@cells.example\n',
  );
  const map = ['--map', 'key=previous_key', '--map', 'email=email'];
  const { code, json } = await importFile(name, ...map, '--only', 'name=Bob');
  const reason =
    'the row has 5 cells, but the header has 4: write the cell that contains the separator in quotation marks';
  expect({ code, json }).toMatchObject({
    code: 1,
    json: { imported: 1, skipped: 0, refused_rows: [{ place: 'line 2', reason }] },
  });
  const refused = `${name}.refused.csv`;
  const content = readFileSync(terminal.file(refused), 'utf8');
  expect(content).toBe(
    `key,name,email,note,refused\nCELLS-KEY-0001,Smith,Ada,ada@cells.example,,"${reason}"\n`,
  );
  const corrected = write(content.replace('Smith,Ada', '"Smith, Ada"'));
  expect(await importFile(corrected, ...map)).toMatchObject({ code: 0, json: { imported: 1 } });
  expect(await licensesOf('cells.example')).toMatchObject([
    { email: 'ada@cells.example' },
    { email: 'bob@cells.example' },
  ]);
});

test('a repeated row counts once; the same key for another address is refused', async () => {
  const name = write(
    'key,email\nREPEATED-KEY-1,ada@twice.example\nrepeated key 1,Ada@twice.example\nREPEATED-KEY-1,bob@twice.example\n',
  );
  const { code, json } = await importFile(name, '--map', 'key=previous_key', '--map', 'email=email');
  expect({ code, json }).toMatchObject({
    code: 1,
    json: {
      imported: 1,
      repeated: 1,
      refused_rows: [
        { place: 'line 4', reason: 'this key is already in line 2, with another address or transaction' },
      ],
    },
  });
});

describe('of two rows of a license, the one with the later state of its purchase counts', () => {
  const map = ['key=previous_key', 'email=email', 'order=transaction_id', 'status=status'].flatMap((m) => [
    '--map',
    m,
  ]);
  const rowOf = (number: number, status: string, domain = 'twice-sold.example') =>
    `${domain}-${String(number).padStart(4, '0')},${number}@${domain},${domain}-${number},${status}\n`;
  const header = 'key,email,order,status\n';
  const statesOf = async (domain: string) =>
    (await licensesOf(domain)).flatMap(({ email, state, ended, mailed }) =>
      state === 'paid' ? [] : [{ email, state, ended, mailed }],
    );

  test('in a first import, no key of a refunded license is mailed', async () => {
    const name = write(
      header + rowOf(1, 'paid') + rowOf(2, 'paid') + rowOf(1, 'refunded') + rowOf(1, 'paid'),
    );
    const dry = await importFile(name, ...map, '--dry-run');
    const real = await importFile(name, ...map);
    expect(real).toMatchObject({ code: 0, json: { rows: 4, imported: 2, repeated: 2, mails: 1 } });
    expect(dry.json).toEqual({ ...real.json, dry_run: true });
    expect(real.json.statuses).toContainEqual({ in_file: 'refunded', becomes: 'refunded', licenses: 1 });
    expect(await statesOf('twice-sold.example')).toEqual([
      { email: '1@twice-sold.example', state: 'refunded', ended: true, mailed: false },
    ]);
  });

  test('a last export that is appended to the first one ends the licenses that were refunded meanwhile', async () => {
    const rows = rowOf(1, 'paid', 'appended.example') + rowOf(2, 'paid', 'appended.example');
    expect((await importFile(write(header + rows), ...map)).json).toMatchObject({ imported: 2 });
    const appended = write(header + rows + rowOf(1, 'refunded', 'appended.example'));
    expect(await importFile(appended, ...map)).toMatchObject({
      code: 0,
      json: { imported: 0, already_imported: 2, repeated: 1, raised_purchases: 1 },
    });
    expect(await statesOf('appended.example')).toMatchObject([{ email: '1@appended.example', ended: true }]);
  });

  test('also if an earlier batch has stored the earlier row', async () => {
    const domain = 'two-batches.example';
    const rows = Array.from({ length: 2_001 }, (_, i) => rowOf(i + 1, 'paid', domain));
    const later = rowOf(1, 'disputed', domain) + rowOf(1, 'refunded', domain);
    const name = write(header + rows.join('') + later);
    const counts = { rows: 2_003, imported: 2_001, already_imported: 1, repeated: 1, refused: 0 };
    expect((await importFile(name, ...map, '--no-mail', '--dry-run')).json).toMatchObject(counts);
    expect((await importFile(name, ...map, '--no-mail')).json).toMatchObject({
      ...counts,
      raised_purchases: 1,
    });
    expect(await statesOf(domain)).toMatchObject([{ email: `1@${domain}`, state: 'refunded', ended: true }]);
  });
});

test('without a transaction, a later row with a refund is refused if the earlier one is stored already', async () => {
  const rows = Array.from({ length: 2_001 }, (_, i) => `NO-ORDER-${10_000 + i},${i}@no-order.example,paid`);
  const name = write(
    ['key,email,status', ...rows, 'NO-ORDER-10000,0@no-order.example,refunded', ''].join('\n'),
  );
  const args = ['key=previous_key', 'email=email', 'status=status'].flatMap((map) => ['--map', map]);
  const reason =
    'this key is already in line 2, with another status of its refund or dispute: if that row was imported, change the status of the license';
  const report = { imported: 2_001, refused_rows: [{ place: 'line 2003', reason }] };
  expect((await importFile(name, ...args, '--no-mail', '--dry-run')).json).toMatchObject(report);
  expect((await importFile(name, ...args, '--no-mail')).json).toMatchObject(report);
});

describe('a wrong use is refused in one sentence', () => {
  test.each<[string, string[], number, RegExp]>([
    ['no file', [], 2, /^Give the file to import\.$/],
    [
      'an unknown system',
      ['x.csv', '--from', 'fastspring'],
      2,
      /^--from must be one of lemonsqueezy, gumroad, paddle, keygen\.$/,
    ],
    ['an unknown field', ['x.csv', '--map', 'A=key'], 2, /^--map must end with one of previous_key, email, /],
    ['--map without an equals sign', ['x.csv', '--map', 'email'], 2, /^--map must be COLUMN=FIELD\.$/],
    ['--map without a column', ['x.csv', '--map', ' =email'], 2, /^--map must be COLUMN=FIELD\.$/],
    ['--map without a field', ['x.csv', '--map', 'Email= '], 2, /^--map must be COLUMN=FIELD\.$/],
    [
      '--only without a column',
      ['x.csv', '--from', 'paddle', '--only', ' =x'],
      2,
      /^--only must be COLUMN=VALUE\.$/,
    ],
    [
      'a field named twice',
      ['x.csv', '--map', 'A=email', '--map', 'B=email'],
      2,
      /^--map names two columns for email\.$/,
    ],
    [
      'two values for a column',
      ['x.csv', '--from', 'paddle', '--only', 'A=one', '--only', 'A=two'],
      2,
      /^--only names A twice\.$/,
    ],
    [
      'an option that needs --from or --map',
      ['x.csv', '--on-expiry', 'stop'],
      2,
      /^--on-expiry needs --from or --map/,
    ],
    ['--send with a file', ['x.csv', '--send'], 2, /^--send is for licenses that are imported already/],
    [
      '--send for a part of the licenses',
      ['--send', '--only', 'Item Name=My App'],
      2,
      /^--send mails the new keys of all earlier imports/,
    ],
    ['--send without mails', ['--send', '--no-mail'], 2, /^--send mails the new keys of all earlier imports/],
    ['a file that does not exist', ['x.csv', '--from', 'paddle'], 1, /x\.csv does not exist/],
    [
      'two results on standard output',
      ['x.csv', '--from', 'paddle', '--refused', '-', '--json'],
      2,
      /cannot be combined/,
    ],
  ])('%s', async (_name, args, code, sentence) => {
    const run = await terminal.run(['license', 'import', ...args]);
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
    expect(run.stderr.trim()).toMatch(sentence);
  });

  test('a file without the columns of the system', async () => {
    const { code, stderr } = await importFile(
      write('Name,Email\nAda,ada@example.com\n'),
      '--from',
      'gumroad',
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /has no column for previous_key; looked for licensekey .*--map "COLUMN=previous_key" names another one\.\n$/,
    );
  });

  const KEY_AND_EMAIL = ['--map', 'key=previous_key', '--map', 'email=email'];
  test.each([
    ['--map', ['--map', 'Sttae=status'], /\.csv has no column Sttae, which --map or --only names\.\n$/],
    ['--only', ['--only', 'Product=App'], /\.csv has no column Product, which --map or --only names\.\n$/],
  ])('a file without a column that %s names', async (_name, args, sentence) => {
    const name = write('key,email,State\nNAMED-KEY-0001,ada@named.example,refunded\n');
    const { code, stderr } = await importFile(name, ...KEY_AND_EMAIL, ...args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(sentence) });
  });

  test('a file in which two columns have the name of one that is read; others may share a name', async () => {
    const rows = 'TWICE-KEY-0001,ada@twice.example,bob@twice.example\n';
    const { code, stderr } = await importFile(write(`key,email,E-Mail\n${rows}`), ...KEY_AND_EMAIL);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /\.csv has two columns email \(without .*\): rename the one that is not meant\.\n$/,
      ),
    });
    const others = await importFile(write(`key,email,Note,note\n${rows}`), ...KEY_AND_EMAIL);
    expect(others).toMatchObject({ code: 0, json: { imported: 1 } });
  });

  test('a row of more than 256 KiB', async () => {
    const name = write(`key,email\nLONG-KEY-0001,ada@long.example${'x'.repeat(300_000)}\n`);
    const { code, stderr } = await importFile(name, '--map', 'key=previous_key', '--map', 'email=email');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /line 2: this row is longer than 256 KiB; look for a quotation mark that is not closed\.\n$/,
    );
  });

  test.each([
    ['[{"key": "A"},', /\.json: the file ends before the list is complete\.$/m],
    ['[{"key": "A"},\n{"key":', /line 2: the file ends before this JSON value is complete/],
    ['{"data": [', /line 1: the file ends before this JSON value is complete/],
    ['{"key": "A"},\n{"key": "B"}]', /line 2: this \] ends a list that does not begin in the file/],
    ['{"key": "A"}]\n[{"key": "B"}', /line 1: this \] ends a list that does not begin in the file/],
    ['[{"a": 1}, oops]', /this is not JSON, or not a list/],
    ['{"a": nope}', /line 1: this is not JSON/],
  ])('JSON that is cut off or wrong: %s', async (content, sentence) => {
    const { code, stderr } = await importFile(write(content, 'json'), '--from', 'keygen');
    expect(code).toBe(1);
    expect(stderr).toMatch(sentence);
  });
});

test('with `--refused -` the refused rows are on standard output, and the report says so', async () => {
  const name = write('email,license key\nno address,AAAA-1\n');
  const args = ['license', 'import', name, '--from', 'gumroad', '--refused', '-'];
  expect(await terminal.run(args)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^email,license key,refused\nno address,AAAA-1,/),
    stderr: expect.stringMatching(/^Refused +1, on standard output$/m),
  });
});

test('an import that is refused before its first row leaves no progress bar', async () => {
  const file = terminal.file(write(`email,license key\n${'ada@bar.example,AAAA-1\n'.repeat(10_000)}`));
  const refused = terminal.file(write('corrected'));
  const written: string[] = [];
  const { stderr } = process;
  const { isTTY } = stderr;
  jest.spyOn(stderr, 'write').mockImplementation((piece) => written.push(String(piece)) > 0);
  try {
    stderr.isTTY = true;
    const options = { from: 'gumroad', refused, mail: false, mailsPerMinute: 1 } as const;
    await expect(importExportFile(file, options, new Command())).rejects.toThrow('is not overwritten');
  } finally {
    stderr.isTTY = isTTY;
    jest.restoreAllMocks();
  }
  expect(written[0]).toMatch(/^\r/);
  expect(written.at(-1)).toBe('\r\u001b[K');
});

// Only Linux has this device, on which a write fails as on a full disk.
const FULL = '/dev/full';
if (existsSync(FULL)) {
  test('an import ends with a sentence if the file of refused rows is on a full disk', async () => {
    symlinkSync(FULL, terminal.file('full.csv.part'));
    const name = write('email,license key\nno address,AAAA-1\n');
    const args = ['license', 'import', name, '--from', 'gumroad', '--refused', 'full.csv'];
    const { code, stderr } = await terminal.runInNewProcess(args);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `${terminal.file('full.csv.part')} cannot be used (ENOSPC). Correct this, or name a file in another folder with --refused, and start the import again: it continues.\n`,
      ),
    });
    expect(existsSync(terminal.file('full.csv.part'))).toBe(false);
  });
}
