import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { isConnectionError } from '../../src/database/connection-errors.js';
import { replicaPool } from '../../src/database/data-source.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { makeCertificate, type Certificate } from '../support/certificate.js';
import { MAIN, Terminal } from '../support/processes/cli-harness.js';
import { createDatabase, Service } from '../support/harness.js';
import { LIMITS_OF_PRODUCTION, withLimits } from '../support/limits.js';
import { JobWatch } from '../mail/harness.js';
import { TlsPostgres } from '../support/databases/tls-postgres.js';

// Processes start here; a busy machine takes its time.
jest.setTimeout(60_000);

const terminal = new Terminal({ PUBLIC_URL: undefined, PORT: '0' });
const right = makeCertificate('127.0.0.1');
const sslrootcert = trusted('right.pem', right);
let database: Awaited<ReturnType<typeof createDatabase>>;
let postgres: TlsPostgres;

beforeAll(async () => {
  database = await createDatabase();
});
afterEach(() => postgres?.close());
afterAll(async () => {
  terminal.close();
  await database?.drop();
});

/** A certificate as a file. @returns its name */
function trusted(name: string, { cert }: Certificate): string {
  writeFileSync(terminal.file(name), cert);
  return terminal.file(name);
}

/** A server in front of the database with this certificate. */
async function offering(certificate: Certificate | null): Promise<TlsPostgres> {
  postgres = await TlsPostgres.open(database.url);
  postgres.certificate = certificate;
  return postgres;
}

test('every connection of the service and of the command line has TLS where DATABASE_URL says so', async () => {
  await offering(right);
  const url = postgres.url({ sslmode: 'verify-full', sslrootcert });
  const service = await Service.start({ databaseUrl: url, environment: { DATABASE_READ_URL: url } });
  const jobs = await JobWatch.on(database.url);
  try {
    const { token } = (await service.activate(await service.issue())).json;
    expect((await service.heartbeat(token, { telemetry: { os: 'macos' } })).status).toBe(200);
    await service.app.get(RetentionService).run();
    const sale = { transaction_id: 'over-tls', email: 'ada@example.com', status: 'paid' } as const;
    await service.app.get(PurchasesService).record(sale);
    await jobs.done('license_key');
    const names = await service.sql<{ application_name: string }>(
      'select distinct application_name from pg_stat_activity where datname = current_database()',
    );
    expect(names.map(({ application_name }) => application_name)).toEqual(
      expect.arrayContaining(['mooring', expect.stringMatching(/^(pool|worker)/i)]),
    );
    expect(await terminal.run(['status'], { env: { DATABASE_URL: url } })).toMatchObject({ code: 0 });
  } finally {
    await jobs.close();
    await service.close();
  }
  // A replica's too: this server is none, which is seen behind TLS alone.
  const replica = replicaPool(url);
  await expect(replica.query('select 1')).rejects.toThrow('not a standby');
  await replica.end();
  expect(postgres.seen.plain).toBe(0);
  expect(postgres.seen.secure).toBeGreaterThan(5);
});

describe('one sentence and exit code 2, from a start and from a command, where', () => {
  const elsewhere = makeCertificate('db.example.com');
  const expired = makeCertificate('127.0.0.1', 0.5);
  const FAILED = (code: string) =>
    new RegExp(
      `^DATABASE_URL demands TLS, which failed \\(${code}\\): check .* sslrootcert \\(docs/.*\\)\\.\\n$`,
    );
  const NONE =
    /^DATABASE_URL demands TLS, which the server does not offer: .* sslmode=disable .* \(docs\/.*\)\.\n$/;

  test.each<[string, Certificate | null, string, Record<string, string>, RegExp]>([
    ['the server offers no TLS', null, 'right.pem', {}, NONE],
    ['the same without verification', null, 'right.pem', { sslmode: 'no-verify' }, NONE],
    ['the authority is unknown', right, '', {}, FAILED('DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['the authority is another', right, 'elsewhere.pem', {}, FAILED('DEPTH_ZERO_SELF_SIGNED_CERT')],
    [
      'the certificate is of another host',
      elsewhere,
      'elsewhere.pem',
      {},
      FAILED('ERR_TLS_CERT_ALTNAME_INVALID'),
    ],
    ['the certificate has expired', expired, 'expired.pem', {}, FAILED('CERT_HAS_EXPIRED')],
  ])('%s', async (_where, certificate, file, parameters, sentence) => {
    trusted('elsewhere.pem', elsewhere);
    trusted('expired.pem', expired);
    await offering(certificate);
    const url = postgres.url({
      sslmode: 'verify-full',
      ...(file && { sslrootcert: terminal.file(file) }),
      ...parameters,
    });
    const runs = [
      await terminal.run(['status'], { env: { DATABASE_URL: url } }),
      await terminal.run(['migrate'], { env: { DATABASE_URL: url } }),
      await terminal.run([], { program: MAIN, env: { DATABASE_URL: url } }),
    ];
    for (const { code, stderr } of runs) {
      expect(stderr).toMatch(sentence);
      expect(code).toBe(2);
      expect(stderr).not.toContain(new URL(url).password || 'postgres://');
    }
    expect(postgres.seen.plain).toBe(0);
  });
});

test.each<Record<string, string>>([
  { sslmode: 'verify-full', sslrootcert },
  { sslmode: 'no-verify' },
  { sslmode: 'require', sslrootcert },
])('with %j a server with TLS is used', async (parameters) => {
  await offering(right);
  const run = await terminal.run(['status'], { env: { DATABASE_URL: postgres.url(parameters) } });
  // Nor is a warning of the driver's printed.
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(postgres.seen).toEqual({ secure: expect.any(Number), plain: 0 });
});

test('with sslmode=disable none is asked for', async () => {
  const url = new URL(database.url);
  url.searchParams.set('sslmode', 'disable');
  expect(await terminal.run(['status'], { env: { DATABASE_URL: url.href } })).toMatchObject({ code: 0 });
  await offering(right);
  const plain = await terminal.run(['status'], {
    env: { DATABASE_URL: postgres.url({ sslmode: 'disable' }) },
  });
  expect([plain.code, postgres.seen]).toEqual([1, { secure: 0, plain: expect.any(Number) }]);
});

test('a connection that falls silent is cut under TLS as well', async () => {
  await offering(right);
  const client = new DeadlineClient(postgres.url({ sslmode: 'verify-full', sslrootcert }));
  await client.connect();
  const { rows } = (await (client as pg.Client).query('select 1 as one')) as pg.QueryResult;
  expect(rows).toEqual([{ one: 1 }]);
  postgres.fallSilent();
  await withLimits({ silence: LIMITS_OF_PRODUCTION.silence }, () =>
    expect((client as pg.Client).query('select 1')).rejects.toThrow('Connection terminated'),
  );
});

test.each(['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'EPROTO'])(
  'a running service whose database has a certificate that fails (%s) answers 503, not 500',
  (code) => expect(isConnectionError(Object.assign(new Error('x'), { code }))).toBe(true),
);
