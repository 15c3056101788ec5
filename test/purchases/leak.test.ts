import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { call, connect } from '../support/harness.js';
import { filesBelow, formsOfAddress, formsOfText, LeakSearch } from '../support/leak-search.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { cancelLockWaitsDuring, everyRow } from '../support/tables.js';
import {
  waitForMails,
  PURCHASES_PATH,
  WEBHOOK_SECRET,
  signatureHeaders,
  unixTime,
} from '../support/http/webhook.js';
import { temporaryFolder } from '../support/folders.js';

/*
 * The test sends complete events of a payment processor, with much personal data of a buyer, to the built service with its
 * own database. It then searches all tables, logs and database files for this data.
 */

/** The members of an event that are stored. */
const TRANSACTION = 'pi_canary_7f3a';
const EMAIL = 'canary.buyer.7f3a@leak.example';

/** The other values of an event, which are never stored. */
const PRIVATE = {
  card: '4242424242424242',
  grouped: '4242-4242-4242-4242',
  holder: 'Canary Buyer-Lovelace',
  street: 'Canary Street 77b',
  postcode: '10117-canary',
  iban: 'DE89370400440532013000',
  license_key: 'MOOR_CANA-RYCA-NARY-CANA',
  user_agent: 'CanaryAgent/5.1 (Macintosh)',
  first_email: 'first.canary@leak.example',
  other_email: 'other.canary@leak.example',
  event: 'evt_canary_19c2',
  receipt: 'https://canary.example/receipt/77',
  cookie: 'canary-cookie-5f1c',
  member: 'canary-member-name',
};
const ADDRESSES = ['203.0.113.77', '2001:db8::77'];
/** Values of the headers of an event. */
const ID = 'msg_canary_2b8e';
const AGENT = 'CanaryHooks/2.0';
/** The time of the signature. It differs from the time of the request, which the service may store. */
const AT = unixTime() - 200;

/** An event with a status, 60 KiB long, in which members with the same names occur many times with other values. */
function eventOf(status: string): string {
  const { card, grouped, holder, street, postcode, iban, license_key, user_agent, cookie } = PRIVATE;
  const { first_email, other_email, event, receipt, member } = PRIVATE;
  const charge = JSON.stringify({
    card: { card, grouped, iban, holder },
    billing: { holder, email: EMAIL, lines: [street, postcode] },
    customer: { email: other_email, license_key, previous: [{ email: EMAIL }, { email: other_email }] },
    client: { ip: ADDRESSES[0], forwarded: ADDRESSES, user_agent, cookies: { cookie } },
    [member]: { id: event, receipt },
  });
  const members = `"transaction_id":"${TRANSACTION}","email":"${EMAIL}","status":"${status}"`;
  const start = `{"email":"${first_email}","id":"${event}","ip":"${ADDRESSES[0]}",${members},"data":[`;
  const repetitions = Math.floor((60 * 1024 - start.length) / (charge.length + 1));
  return `${start}${Array<string>(repetitions).fill(charge).join()}]}`;
}

const signature = signatureHeaders(eventOf('paid'), { id: ID, at: AT })['webhook-signature']!.slice(
  'v1,'.length,
);
const secrets = new LeakSearch([
  ...[...Object.values(PRIVATE), ID, AGENT, signature].flatMap(formsOfText),
  ...ADDRESSES.flatMap(formsOfAddress),
]);
const signatureTimes = new LeakSearch(formsOfText(String(AT)));
const identities = new LeakSearch([TRANSACTION, EMAIL].flatMap(formsOfText));

const directory = temporaryFolder();

const port = await freePort();
// For the test of the search itself: on a signal the process prints the content of a file, as a wrong log line would.
const planted = `import { readFileSync } from 'node:fs';
  process.on('SIGUSR2', () => process.stdout.write(readFileSync(${JSON.stringify(join(directory, 'plant'))}, 'utf8')));`;
const server = new ServerProcess(
  {
    NODE_ENV: 'development',
    PORT: String(port),
    DATA_DIR: join(directory, 'data'),
    LOG_LEVEL: 'trace',
    PURCHASE_WEBHOOK_SECRET: WEBHOOK_SECRET,
  },
  { nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(planted)}`] },
);
await server.ready();
const databaseUrl = (
  JSON.parse(readFileSync(join(directory, 'data/postgres.json'), 'utf8')) as { url: string }
).url;
const database = await connect(databaseUrl);
await sendEvents(`http://127.0.0.1:${port}`);

/** Sends events which are refused, events which cause errors, and events which are recorded. */
async function sendEvents(url: string): Promise<void> {
  const send = async (body: string, headers = signatureHeaders(body, { id: ID, at: AT })) =>
    (await call(url, 'POST', PURCHASES_PATH, body, { 'user-agent': AGENT, ...headers })).status;
  const statuses = [
    await send(eventOf('paid'), {}),
    await send(eventOf('lost')),
    await send(eventOf('paid').slice(0, -1)),
    await send(eventOf('paid') + ' '.repeat(5_000)),
  ];
  await database.query('alter table license rename column on_expiry to gone');
  statuses.push(await send(eventOf('paid')));
  await database.query('alter table license rename column gone to on_expiry');
  await database.query('begin; lock table purchase in access exclusive mode');
  statuses.push(
    await cancelLockWaitsDuring(
      (sql) => database.query(sql),
      () => send(eventOf('paid')),
    ),
  );
  await database.query('rollback');
  for (const status of ['paid', 'paid', 'disputed', 'dispute_won'])
    statuses.push(await send(eventOf(status)));
  await waitForMails(database);
  expect(statuses).toEqual([403, 422, 400, 413, 500, 503, 204, 204, 204, 204]);
}

const logs = () => server.stdout + server.stderr + readFileSync(join(directory, 'data/postgres.log'), 'utf8');

test('the tables have the stored members of an event and no other value of it', async () => {
  const rows = await everyRow(database);
  expect([...secrets.in(rows.join('\n')), ...signatureTimes.in(rows.join('\n'))]).toEqual([]);
  const { rows: purchases } = await database.query(
    "select to_jsonb(p) - 'id' as facts, pg_typeof(recorded_on)::text as type from purchase p",
  );
  const facts = { transaction_id: TRANSACTION, email: EMAIL, state: 'dispute_won', paid: true };
  const recorded_on = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
  expect(purchases).toEqual([{ facts: { ...facts, recorded_on }, type: 'date' }]);
  // The address is stored where the documentation says: with the purchase and with the license.
  const withAddress = rows.filter((row) => row.toLowerCase().includes(EMAIL));
  expect(withAddress.map((row) => row.split(':')[0])).toEqual(['public.license', 'public.purchase']);
  const withTransaction = rows.filter((row) => row.includes(TRANSACTION));
  expect(withTransaction.map((row) => row.split(':')[0])).toEqual(['public.purchase']);
});

// The search in files finds short values only, because PostgreSQL compresses long ones. The test of the tables finds long ones.
test('no file has any other value of an event, neither the write-ahead log nor the mail to the buyer', async () => {
  await database.query('checkpoint');
  expect(secrets.inFiles(join(directory, 'data'))).toEqual([]);
  const mails = filesBelow(join(directory, 'data/outbox')).map((file) => readFileSync(file, 'utf8'));
  expect(mails.filter((mail) => mail.includes(EMAIL))).toHaveLength(1);
  expect(mails.filter((mail) => mail.includes(TRANSACTION))).toEqual([]);
});

test('no log line at level trace and no output of PostgreSQL has a value of the event', () => {
  expect(logs()).toContain(`"route":"${PURCHASES_PATH}"`);
  expect([...secrets.in(logs()), ...identities.in(logs())]).toEqual([]);
});

// The last test, because the planted values stay in the files.
test('the search finds planted values in a table, in a log and in a file', async () => {
  const texts = [...secrets.forms, ...identities.forms, ...signatureTimes.forms].filter(
    ({ binary }) => !binary,
  );
  const printed = `${texts.map(({ bytes }) => bytes.toString()).join('\n')}\nEND OF PLANT\n`;
  const everything = new Set(secrets.forms.filter(({ binary }) => !binary).map(({ what }) => what));
  writeFileSync(join(directory, 'plant'), printed);
  server.child.kill('SIGUSR2');
  await server.waitForOutput('stdout', /END OF PLANT/);
  expect(secrets.in(logs())).toEqual(everything);
  expect(identities.in(logs()).size).toBeGreaterThan(20);
  await database.query('create table planted (form text)');
  for (const { bytes } of texts) await database.query('insert into planted values ($1)', [bytes.toString()]);
  const rows = (await everyRow(database)).join('\n');
  expect(secrets.in(rows)).toEqual(everything);
  expect(signatureTimes.in(rows).size).toBeGreaterThan(20);
  await database.query('checkpoint');
  const found = secrets.inFiles(join(directory, 'data')).map((line) => line.replace(/^[^:]*: /, ''));
  expect(new Set(found)).toEqual(everything);
});
