import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { isTemporaryDatabaseError } from '../../src/database/temporary-errors.js';
import { replicaPool } from '../../src/database/data-source.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { makeCertificate, type Certificate } from '../support/certificate.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { MAIN } from '../support/processes/server-process.js';
import { createDatabase, Service } from '../support/harness.js';
import { LIMITS_OF_PRODUCTION, withLimits } from '../support/limits.js';
import { JobWatch } from '../mail/harness.js';
import { TlsPostgres } from '../support/databases/tls-postgres.js';

const terminal = new Terminal({ PUBLIC_URL: undefined, PORT: '0' });
const validCertificate = makeCertificate('127.0.0.1');
const sslrootcert = writeCertificate('valid.pem', validCertificate);
let postgres: TlsPostgres;

const database = await createDatabase();
afterEach(() => postgres?.close());

/** Writes a certificate to a file that a URL can name as sslrootcert. @returns the path */
function writeCertificate(name: string, { cert }: Certificate): string {
  writeFileSync(terminal.file(name), cert);
  return terminal.file(name);
}

/** Opens a proxy with this certificate in front of the database; with null the proxy offers no TLS. */
async function openServer(certificate: Certificate | null): Promise<TlsPostgres> {
  postgres = await TlsPostgres.open(database.url);
  postgres.certificate = certificate;
  return postgres;
}

test('every connection of the service and of the command line has TLS if DATABASE_URL requires it', async () => {
  await openServer(validCertificate);
  const url = postgres.url({ sslmode: 'verify-full', sslrootcert });
  const service = await Service.start({ databaseUrl: url, environment: { DATABASE_READ_URL: url } });
  const jobs = await JobWatch.on(database.url);
  const { token } = await service.issueActivated();
  expect((await service.heartbeat(token, { telemetry: { os: 'macos' } })).status).toBe(200);
  await service.app.get(RetentionService).run();
  const purchase = { transaction_id: 'over-tls', email: 'ada@example.com', status: 'paid' } as const;
  await service.app.get(PurchasesService).record(purchase);
  await jobs.untilDone('license_key');
  const names = await service.sql<{ application_name: string }>(
    'select distinct application_name from pg_stat_activity where datname = current_database()',
  );
  expect(names.map(({ application_name }) => application_name)).toEqual(
    expect.arrayContaining(['mooring', expect.stringMatching(/^(pool|worker)/i)]),
  );
  expect(await terminal.run(['status'], { env: { DATABASE_URL: url } })).toMatchObject({ code: 0 });
  await service.close();
  // The connections to a replica have TLS too: after the handshake, this server is refused because it is no replica.
  const replica = replicaPool(url);
  await expect(replica.query('select 1')).rejects.toThrow('not a standby');
  await replica.end();
  expect(postgres.seen.plain).toBe(0);
  expect(postgres.seen.secure).toBeGreaterThan(5);
});

describe('a command, and a start, which begins with a migration, end with one sentence and exit code 2 if', () => {
  const ofOtherHost = makeCertificate('db.example.com');
  // This certificate was valid for half a day, which began yesterday.
  const expired = makeCertificate('127.0.0.1', 0.5);
  const tlsFailed = (code: string, remedy = 'check .* sslrootcert') =>
    new RegExp(`^DATABASE_URL requires TLS, which failed \\(${code}\\): ${remedy} \\(docs/.*\\)\\.\\n$`);
  const NO_TLS =
    /^DATABASE_URL requires TLS, which the server does not offer: .* sslmode=disable .* \(docs\/.*\)\.\n$/;

  test.each<
    [
      name: string,
      certificate: Certificate | null,
      sslrootcert: string,
      parameters: Record<string, string>,
      sentence: RegExp,
    ]
  >([
    ['the server offers no TLS', null, 'valid.pem', {}, NO_TLS],
    [
      'the server offers no TLS, and sslmode is no-verify',
      null,
      'valid.pem',
      { sslmode: 'no-verify' },
      NO_TLS,
    ],
    ['the authority is unknown', validCertificate, '', {}, tlsFailed('DEPTH_ZERO_SELF_SIGNED_CERT')],
    [
      'another authority is trusted',
      validCertificate,
      'other-host.pem',
      {},
      tlsFailed('DEPTH_ZERO_SELF_SIGNED_CERT'),
    ],
    [
      'the certificate is of another host',
      ofOtherHost,
      'other-host.pem',
      {},
      tlsFailed('ERR_TLS_CERT_ALTNAME_INVALID', 'use the host name for which .* is issued'),
    ],
    [
      'the certificate has expired',
      expired,
      'expired.pem',
      {},
      tlsFailed('CERT_HAS_EXPIRED', 'renew .* certificate, or correct the clock'),
    ],
  ])('%s', async (_name, certificate, file, parameters, sentence) => {
    writeCertificate('other-host.pem', ofOtherHost);
    writeCertificate('expired.pem', expired);
    await openServer(certificate);
    const url = postgres.url({
      sslmode: 'verify-full',
      ...(file && { sslrootcert: terminal.file(file) }),
      ...parameters,
    });
    const runs = [
      await terminal.run(['status'], { env: { DATABASE_URL: url } }),
      await terminal.run(['migrate'], { env: { DATABASE_URL: url } }),
    ];
    // A start takes much longer than its migration, which fails.
    if (certificate === expired)
      runs.push(await terminal.run([], { program: MAIN, env: { DATABASE_URL: url } }));
    for (const { code, stderr } of runs) {
      expect(stderr).toMatch(sentence);
      expect(code).toBe(2);
      // The message contains no password; if the URL has none, it does not contain the URL.
      expect(stderr).not.toContain(new URL(url).password || 'postgres://');
    }
    expect(postgres.seen.plain).toBe(0);
  });
});

test.each<Record<string, string>>([
  { sslmode: 'verify-full', sslrootcert },
  { sslmode: 'no-verify' },
  { sslmode: 'require', sslrootcert },
])('with %j the connection has TLS', async (parameters) => {
  await openServer(validCertificate);
  const run = await terminal.run(['status'], { env: { DATABASE_URL: postgres.url(parameters) } });
  // The driver prints no warning.
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(postgres.seen).toEqual({ secure: expect.any(Number), plain: 0 });
});

test('with sslmode=disable no TLS is requested', async () => {
  const url = new URL(database.url);
  url.searchParams.set('sslmode', 'disable');
  expect(await terminal.run(['status'], { env: { DATABASE_URL: url.href } })).toMatchObject({ code: 0 });
  await openServer(validCertificate);
  const plain = await terminal.run(['status'], {
    env: { DATABASE_URL: postgres.url({ sslmode: 'disable' }) },
  });
  expect([plain.code, postgres.seen.secure]).toEqual([1, 0]);
  expect(postgres.seen.plain).toBeGreaterThan(0);
});

test('a query over TLS fails if the server stops answering', async () => {
  await openServer(validCertificate);
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
  'the TLS error %s is temporary, so that a running service answers 503 and not 500',
  (code) => expect(isTemporaryDatabaseError(Object.assign(new Error('x'), { code }))).toBe(true),
);
