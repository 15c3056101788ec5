import { hash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { deriveLicenseKey, licenseKeyHash, licenseKeyHint } from '../../src/keys/license-key.js';
import { connect as connectToDatabase } from '../support/harness.js';
import { FORWARDING_HEADERS, CLIENT_ADDRESS } from '../support/canary-addresses.js';
import { outbox } from '../erasure/harness.js';
import { formsOfAddress, formsOfText, isWord, LeakSearch } from '../support/leak-search.js';
import { documentedRoutes, fillPath } from '../support/http/openapi.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { cancelLockWaitsDuring, everyRow } from '../support/tables.js';
import { PURCHASES_PATH, signatureHeaders, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { temporaryFolder } from '../support/folders.js';

/** The IP address from which requests are sent, and those in the forwarding headers. */
const IP_ADDRESSES = [CLIENT_ADDRESS, '203.0.113.77', '2001:db8::77'];
/**
 * Canaries: values that identify the caller and occur nowhere else. The tables may contain them, except the license key; no log
 * may.
 */
const IDENTITY = {
  license_key: deriveLicenseKey(randomBytes(32), 'MOOR', '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6', 1),
  email: 'kanari.q7@leak.example',
  machine_id: hash('sha256', 'a canary machine'),
  hostname_hint: 'Kanari Studio 5f1c',
  transaction_id: 'pi_kanari_5f1c',
};
const STAFF = {
  email: 'kanari.staff@leak.example',
  token: `mst_${randomBytes(32).toString('base64url')}`,
  link: randomBytes(32).toString('base64url'),
};
/** An e-mail address whose erasure staff request and carry out. No log may contain it, neither before nor after the erasure. */
const ERASED_EMAIL = 'kanari.erased@leak.example';
/** The e-mail address of a holder who signs in with a mailed code. */
const CODE_EMAIL = 'kanari.coded@leak.example';
const LICENSE_ID = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
const USER_AGENT = 'KanariAgent/5.1';

const ipAddresses = new LeakSearch(IP_ADDRESSES.flatMap(formsOfAddress));
const directory = temporaryFolder();
let token: string;
/** The session cookie of the staff member's browser. */
let session: string;
/** The session cookies of the holders' sign-ins. */
const sessions: string[] = [];
/** The code with which a holder signs in. */
let code: string;

const port = await freePort();
// The last tests check that the search finds a leak. For them the process prints the content of a file when it receives a
// signal, as a faulty log line would.
const printOnSignal = `import { readFileSync } from 'node:fs';
  process.on('SIGUSR2', () => { const text = readFileSync(${JSON.stringify(join(directory, 'plant'))}, 'utf8');
    process.stdout.write(text); process.stderr.write(text); });`;
const server = new ServerProcess(
  {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: join(directory, 'data'),
    LOG_LEVEL: 'trace',
    ...PURCHASE_SETTINGS,
  },
  { nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(printOnSignal)}`] },
);
await server.ready();
const { url } = JSON.parse(readFileSync(join(directory, 'data/postgres.json'), 'utf8')) as { url: string };
const database = await connectToDatabase(url);
await insertIdentity();
await sendAllRequests();

async function insertIdentity(): Promise<void> {
  const id = LICENSE_ID;
  await database.query(
    `insert into license (id, key_hash, key_hint, email, machines_allowed, on_expiry, created_at)
     values ($1, $2, $3, $4, 1, 'keep', now())`,
    [id, licenseKeyHash(IDENTITY.license_key), licenseKeyHint(IDENTITY.license_key), IDENTITY.email],
  );
  await database.query(
    `insert into license (id, key_hash, key_hint, email, machines_allowed, on_expiry, created_at)
     values (gen_random_uuid(), $1, 'X6', $2, 1, 'keep', now())`,
    [randomBytes(32), CODE_EMAIL],
  );
  await database.query(`insert into staff values ($1, $2, 'support', now())`, [id, STAFF.email]);
  await database.query(`insert into staff_token values ($1, $1, $2, now(), now() + interval '1 day')`, [
    id,
    hash('sha256', STAFF.token, 'buffer'),
  ]);
  await database.query(
    `insert into staff_link values ($1, $1, $2, false, now(), now() + interval '30 minutes')`,
    [id, hash('sha256', STAFF.link, 'buffer')],
  );
}

/** Sends a request from the canary address, with a canary in every forwarding header. */
async function ask(method: string, path: string, body?: unknown, more: Record<string, string> = {}) {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const headers = {
    ...FORWARDING_HEADERS,
    'user-agent': USER_AGENT,
    ...(text !== undefined && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    }),
    ...more,
  };
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    localAddress: CLIENT_ADDRESS,
    method,
    path,
    headers,
    agent: false,
  });
  request.end(text);
  const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
  const chunks = (await response.toArray()) as Buffer[];
  const answer = Buffer.concat(chunks).toString();
  expect([...ipAddresses.in(answer + JSON.stringify(response.rawHeaders))]).toEqual([]);
  return { status: response.statusCode, answer, cookies: response.headers['set-cookie'] ?? [] };
}

/** Sends bytes from the canary address; with `isCut`, the connection is reset before a response. */
async function send(bytes: string, { isCut = false } = {}): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: CLIENT_ADDRESS });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = once(socket.resume(), 'close');
  await new Promise((resolve) => socket.write(bytes, resolve));
  if (isCut) socket.resetAndDestroy();
  else socket.end();
  await closed;
}

/** Makes every kind of request that could be logged: valid and invalid ones to each route, outages, faults, invalid HTTP. */
async function sendAllRequests(): Promise<void> {
  const activation = { ...IDENTITY, app_version: '3.2.0' };
  const event = { ...IDENTITY, ip: CLIENT_ADDRESS, client: { address: IP_ADDRESSES, agent: USER_AGENT } };
  const bearer = { authorization: `Bearer ${STAFF.token}` };
  const statuses = new Set<number | undefined>();
  const askAndRecord = async (...call: Parameters<typeof ask>) => {
    const { status, answer } = await ask(...call);
    statuses.add(status);
    return answer;
  };
  token = (JSON.parse(await askAndRecord('POST', '/v1/activate', activation)) as { token: string }).token;
  const heartbeat = {
    token,
    app_version: '3.2.0',
    telemetry: { crash_label: CLIENT_ADDRESS, os_version: IDENTITY.email, arch: 'arm64' },
  };
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { sub: string };
  const report = (status: string) => {
    const body = JSON.stringify({ ...event, status });
    return askAndRecord('POST', PURCHASES_PATH, body, signatureHeaders(body));
  };
  const withAddresses = (url: string) => `${url}?email=${IDENTITY.email}&from=${CLIENT_ADDRESS}`;
  const sendValidBodies = async (method: string, path: string, url: string) => {
    for (const body of [
      activation,
      heartbeat,
      { reason: 'Sold.' },
      { email: IDENTITY.email },
      { license_key: IDENTITY.license_key },
    ])
      // Requests to a path with an id have no token, because with one the body with a reason could release the machine.
      await askAndRecord(
        method,
        url,
        body,
        path.startsWith('/support') && !path.includes('{id}') ? bearer : {},
      );
  };
  const sendInvalid = async (method: string, url: string) => {
    await askAndRecord(method, url, method === 'POST' ? '{"' : undefined, bearer);
    // A body may have 16 KiB, and a purchase report 64 KiB: a larger report is sent below.
    await askAndRecord(method, url, method === 'POST' ? 'x'.repeat(17_000) : undefined, bearer);
    if (method === 'POST')
      await askAndRecord(method, url, JSON.stringify(activation), {
        ...bearer,
        'content-type': 'text/plain',
      });
    await askAndRecord('PATCH', url, activation);
    await askAndRecord(method, withAddresses(url), method === 'POST' ? activation : undefined, {
      authorization: 'Bearer mst_wrong',
    });
  };
  const callEveryRoute = async ({ isFaulted = false } = {}) => {
    for (const status of ['paid', 'disputed', 'lost']) await report(status);
    for (const { method, path } of documentedRoutes()) {
      const url = fillPath(path, sub);
      if (isFaulted) {
        // An invalid request is refused before it reaches the database.
        const queried = withAddresses(url);
        if (method === 'POST') await sendValidBodies(method, path, queried);
        else await askAndRecord(method, queried, undefined, bearer);
      } else {
        if (method === 'POST') await sendValidBodies(method, path, url);
        await sendInvalid(method, url);
      }
    }
  };
  await callEveryRoute();
  await askAndRecord('POST', '/v1/activate', {
    ...activation,
    machine_id: hash('sha256', 'another machine'),
  });
  await askAndRecord('POST', '/v1/activate', { ...activation, email: `x${IDENTITY.email}` });
  await askAndRecord('POST', '/v1/heartbeat', { ...heartbeat, token: `${token}x` });
  await askAndRecord('POST', PURCHASES_PATH, '{"', signatureHeaders('{"'));
  await askAndRecord('POST', PURCHASES_PATH, 'x'.repeat(66_000), signatureHeaders(''));
  await askAndRecord('GET', `/nowhere/${IDENTITY.email}/${CLIENT_ADDRESS}`);
  await askAndRecord('GET', `/%zz/${IDENTITY.email}`);
  // Internal errors: missing columns and a missing table. After them an outage: a lock that is not released.
  await database.query('alter table activation rename column hostname_hint to gone');
  await database.query('alter table telemetry_inbox rename to gone');
  await database.query('alter table purchase rename column paid to gone');
  await callEveryRoute({ isFaulted: true });
  await database.query('alter table activation rename column gone to hostname_hint');
  await database.query('alter table gone rename to telemetry_inbox');
  await database.query('alter table purchase rename column gone to paid');
  await database.query(
    'begin; lock table license, activation, staff, telemetry_inbox in access exclusive mode',
  );
  await cancelLockWaitsDuring(
    (sql) => database.query(sql),
    () =>
      Promise.all([
        askAndRecord('POST', '/v1/activate', activation),
        askAndRecord('POST', '/v1/heartbeat', heartbeat),
        askAndRecord('POST', '/support/api/licenses/search', { email: IDENTITY.email }, bearer),
        report('dispute_won'),
      ]),
  );
  await database.query('rollback');
  await report('refunded');
  // The service checks at most 60 wrong signatures in a minute, and mails at most ten codes a day to one address.
  const wrongSignatures = Array.from({ length: 61 }, () =>
    askAndRecord('POST', PURCHASES_PATH, event, signatureHeaders('')),
  );
  await Promise.all(wrongSignatures);
  for (let codes = 0; codes < 11; codes += 1)
    await askAndRecord('POST', '/portal/api/session/code', { email: `limited-${IDENTITY.email}` });
  const forwarding = Object.entries(FORWARDING_HEADERS)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const head = `POST /v1/activate HTTP/1.1\r\nhost: ${CLIENT_ADDRESS}\r\n${forwarding}content-type: application/json\r\n`;
  const whole = JSON.stringify(activation);
  for (const bytes of [
    `GARBAGE ${CLIENT_ADDRESS} ${IDENTITY.email}\r\n${forwarding}\r\n`,
    `${head}content-length: x${IDENTITY.license_key}\r\n\r\n${whole}`,
    `${head}transfer-encoding: chunked\r\n\r\nzz${whole}\r\n`,
    `${head}x-long: ${`${CLIENT_ADDRESS} ${IDENTITY.email}`.repeat(1_000)}\r\n\r\n`,
    `${head}content-length: 5000\r\n\r\n${whole}`,
    `${head}expect: ${CLIENT_ADDRESS}\r\ncontent-length: 0\r\n\r\n`,
    `GET /v1/keys HTTP/1.1\r\n${forwarding}\r\n`,
    `CONNECT ${CLIENT_ADDRESS}:443 HTTP/1.1\r\nhost: ${CLIENT_ADDRESS}\r\n${forwarding}\r\n`,
  ]) {
    await send(bytes);
    await send(bytes, { isCut: true });
  }
  await send(`${head}content-length: ${whole.length}\r\n\r\n${whole}`, { isCut: true });
  await askAndRecord('GET', '/health/live');
  await sendPortalRequests(sub);
  await requestErasure(askAndRecord, bearer);
  await sendSupportRequests(askAndRecord);
  // Checks that the requests had the intended responses, so that the search covers them.
  expect([...statuses].toSorted()).toEqual([
    200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503,
  ]);
}

/** Makes valid and invalid requests of a holder, signed in with a key and then with a code. */
async function sendPortalRequests(activation: string): Promise<void> {
  const portal = documentedRoutes().filter(({ path }) => path.startsWith('/portal/'));
  const origin = `http://localhost:${port}`;
  const cookieOf = (lines: readonly string[]) => lines[0]!.split(';')[0]!;
  const { email, license_key } = IDENTITY;
  for (const how of ['key', 'code']) {
    let cookie = '';
    if (how === 'code') {
      const asked = await ask('POST', '/portal/api/session/code', { email: CODE_EMAIL }, { origin });
      cookie = cookieOf(asked.cookies);
      code = await untilCodeMailed();
    }
    const typed = how === 'key' ? { email, license_key } : { email: CODE_EMAIL, code };
    const begun = await ask('POST', '/portal/api/session', typed, { origin, cookie });
    expect(begun.status).toBe(204);
    const session = cookieOf(begun.cookies);
    sessions.push(session.split('=')[1]!);
    // Requests to `/session` are the last ones, because one of them signs the holder out.
    for (const { method, path } of portal.toSorted(
      (a, b) => Number(a.path.endsWith('session')) - Number(b.path.endsWith('session')),
    )) {
      const url = fillPath(path, path.includes('licenses') ? LICENSE_ID : activation);
      const headers = { origin, cookie: session };
      for (const body of ['{"', 'x'.repeat(17_000), { reason: IDENTITY.hostname_hint }])
        if (method === 'POST') await ask(method, url, body, headers);
      await ask(method, `${url}?email=${email}&from=${CLIENT_ADDRESS}`, undefined, headers);
      await ask(method, url, undefined, { ...headers, origin: `http://${CLIENT_ADDRESS}` });
    }
  }
}

/** Waits for the code that is mailed to `CODE_EMAIL`. */
async function untilCodeMailed(): Promise<string> {
  for (;;) {
    for (const { to, text } of await outbox({ dataDir: join(directory, 'data') })) {
      const [, digits] = /^ {4}(\d{4} \d{4})$/m.exec(text) ?? [];
      if (to === CODE_EMAIL && digits) return digits;
    }
    // One round trip passes before the outbox is read again.
    await database.query('select 1');
  }
}

/** Requests an erasure, and waits until it is carried out and its receipt is mailed. */
async function requestErasure(
  askAndRecord: (...call: Parameters<typeof ask>) => Promise<string>,
  bearer: Record<string, string>,
): Promise<void> {
  await database.query("update staff set role = 'admin'");
  const asked = await askAndRecord(
    'POST',
    '/support/api/erasures',
    { email: ERASED_EMAIL, reason: 'Asked.' },
    bearer,
  );
  const { id } = (JSON.parse(asked) as { erasure: { id: string } }).erasure;
  await askAndRecord('POST', `/support/api/erasures/${id}/run`, undefined, bearer);
  for (let waiting = 1; waiting > 0;) {
    const { rows } = await database.query('select 1 from mail_recipient');
    waiting = rows.length;
  }
}

/** Makes valid and invalid requests of the support page to each of its routes. */
async function sendSupportRequests(
  askAndRecord: (...call: Parameters<typeof ask>) => Promise<string>,
): Promise<void> {
  const origin = `http://localhost:${port}`;
  const { cookies } = await ask('POST', '/support/api/session/link', { link: STAFF.link }, { origin });
  session = /^mooring_staff=([\w-]{43});/.exec(cookies[0]!)![1]!;
  const browser = { origin, cookie: `mooring_staff=${session}; mooring_challenge=${session}` };
  const { id } = JSON.parse(
    await askAndRecord('POST', '/support/api/licenses', { email: IDENTITY.email }, browser),
  ).license as { id: string };
  const bodies = [
    { reason: 'Sold.', role: 'support', email: IDENTITY.email, decision: 'release', machines_allowed: 2 },
    {
      response: { id: session, response: { clientDataJSON: CLIENT_ADDRESS } },
      link: STAFF.link,
      reason: IDENTITY.email,
    },
  ];
  const routes = documentedRoutes().filter(({ path }) => path.startsWith('/support/'));
  // The sign-out is the last request, so that all others had a session.
  const last = ({ method, path }: (typeof routes)[number]) =>
    Number(method === 'DELETE' && path.endsWith('session'));
  for (const { method, path } of routes.toSorted((a, b) => last(a) - last(b))) {
    const url = fillPath(path, id);
    for (const body of method === 'GET' ? [undefined] : bodies) {
      await askAndRecord(method, url, body, { ...browser, origin: `http://${CLIENT_ADDRESS}` });
      await askAndRecord(method, url, method === 'DELETE' ? undefined : body, browser);
    }
  }
  expect(await askAndRecord('GET', '/support/api/session', undefined, browser)).toBe('');
}

/** Reads the output of the service and the log of its database. */
const readLogs = () =>
  server.stdout + server.stderr + readFileSync(join(directory, 'data/postgres.log'), 'utf8');

const readTables = async () => (await everyRow(database, { hasSystem: true })).join('\n');

async function searchRawFiles(search: LeakSearch): Promise<string[]> {
  await database.query('checkpoint');
  return search.inFiles(join(directory, 'data'));
}

/** The search for all values that identify the caller, a holder or a member of the staff. */
const identities = () =>
  new LeakSearch(
    [
      ...Object.values(IDENTITY),
      ...Object.values(STAFF),
      ...token.split('.').slice(1),
      session,
      ERASED_EMAIL,
      CODE_EMAIL,
      code,
      ...sessions,
      USER_AGENT,
    ].flatMap(formsOfText),
  );
const secrets = () =>
  new LeakSearch(
    [
      IDENTITY.license_key,
      STAFF.token,
      STAFF.link,
      session,
      ...sessions,
      ...token.split('.').slice(1),
    ].flatMap((secret) =>
      // The tables contain the SHA-256 of a key, a staff token, a link and a session.
      formsOfText(secret).filter(({ what }) => !what.startsWith('sha256')),
    ),
  );

describe('after every route, malformed HTTP, refusals, faults, outages and disconnects', () => {
  test('no form of an IP address is in standard output, standard error or the log of PostgreSQL', () => {
    expect(readLogs()).toContain('"msg":"request"');
    expect([...ipAddresses.in(readLogs())]).toEqual([]);
  });

  test('no key, code, session, e-mail address, token, label, transaction, machine id or user agent is in a log', () => {
    expect([...identities().in(readLogs())]).toEqual([]);
  });

  // The tables and the files are read once, because reading them takes longer than a search for more forms.
  const addressesAndSecrets = () => new LeakSearch([...ipAddresses.forms, ...secrets().forms]);

  test('no form of an IP address and no key, token, sign-in link or session is in a table', async () => {
    const all = await readTables();
    expect(all).toContain(IDENTITY.email);
    expect([...addressesAndSecrets().in(all)]).toEqual([]);
  });

  test('none of them is in the raw files of the data directory and its write-ahead log', async () => {
    expect(await searchRawFiles(addressesAndSecrets())).toEqual([]);
  });
});

// These tests are last, because the values that they plant stay in the files. They check that
// the searches above find every form of each value.
describe('the search itself', () => {
  const planted = () => [...ipAddresses.forms, ...identities().forms];
  const names = (forms: readonly { what: string }[]) =>
    [...new Set(forms.map(({ what }) => what))].toSorted();

  test('finds each form of each canary among other bytes', () => {
    for (const form of planted()) {
      // A short form is found as a whole word only.
      const among = (each: Buffer) =>
        Buffer.concat([randomBytes(99), each, form.bytes, each, randomBytes(99)]);
      const found = new LeakSearch([form]).in(among(Buffer.from(' ')));
      expect([...found]).toEqual([form.what]);
    }
  });

  test('finds what the service prints, and what PostgreSQL logs', async () => {
    const texts = planted().filter(({ binary }) => !binary);
    const printed = `${texts.map(({ bytes }) => bytes.toString()).join('\n')}\nEND OF PLANT\n`;
    writeFileSync(join(directory, 'plant'), printed);
    server.child.kill('SIGUSR2');
    await Promise.all([
      server.waitForOutput('stdout', /END OF PLANT/),
      server.waitForOutput('stderr', /END OF PLANT/),
    ]);
    await database.query(`do $$ begin raise log '%', ${pg.escapeLiteral(printed)}; end $$`);
    const search = new LeakSearch(planted());
    const log = readFileSync(join(directory, 'data/postgres.log'));
    for (const place of [server.stdout, server.stderr, log]) {
      expect([...search.in(place)].toSorted()).toEqual(expect.arrayContaining(names(texts)));
    }
  });

  test('finds what is in a table, and what is in the raw files', async () => {
    await database.query('create table planted (form text, bytes bytea)');
    for (const { bytes, binary } of planted()) {
      await database.query(
        'insert into planted values ($1, $2)',
        binary ? [null, bytes] : [bytes.toString(), null],
      );
    }
    const search = new LeakSearch(planted());
    const texts = names(planted().filter(({ binary }) => !binary));
    expect([...search.in(await readTables())].toSorted()).toEqual(expect.arrayContaining(texts));
    const found = await searchRawFiles(search);
    const inHeap = new Set(
      found.filter((line) => line.includes('/base/')).map((line) => line.replace(/^[^:]*: /, '')),
    );
    const inWal = new Set(
      found.filter((line) => line.includes('/pg_wal/')).map((line) => line.replace(/^[^:]*: /, '')),
    );
    expect([...inHeap].toSorted()).toEqual(names(planted()));
    // In the write-ahead log other bytes may follow a value without a gap, so a form that is searched as a word may be missed.
    const otherForms = names(planted().filter((form) => !isWord(form)));
    expect([...inWal].toSorted()).toEqual(expect.arrayContaining(otherForms));
  });
});
