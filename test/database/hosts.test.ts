import { writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { databaseUrl } from '../../src/core/connection-urls.js';
import { withMaintenanceConnection } from '../../src/database/data-source.js';
import { DatabaseHosts } from '../../src/database/database-hosts.js';
import { databaseFailure } from '../../src/database/open-database.js';
import { queryOne } from '../../src/database/sql.js';
import { makeCertificate } from '../support/certificate.js';
import { createDatabase } from '../support/harness.js';
import { query } from '../support/databases/replica-harness.js';
import { TlsPostgres } from '../support/databases/tls-postgres.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { freePort } from '../support/processes/server-process.js';
import { afterThisFile } from '../support/of-this-file.js';

const PASSWORD = 'a,b@c:d/e';

const database = await createDatabase();
const { port } = new URL(database.url);
const unusedPort = await freePort();
await query(database.url, `create role comma login password '${PASSWORD}'`);
afterThisFile(() => query(database.url, 'drop role comma'));

/**
 * Returns a URL of the database with these hosts, in which PORT is replaced by the port of the server. `databaseUrl` requires TLS
 * for hosts that are not local, but the server has no TLS.
 */
const urlWith = (hosts: string, url = database.url) =>
  databaseUrl('DATABASE_URL', url.replace(/@[^/]+/, `@${hosts.replaceAll('PORT', port)}`)).replace(
    '?sslmode=verify-full',
    '',
  );
const currentUser = (url: string) =>
  withMaintenanceConnection(url, (dataSource) =>
    queryOne<{ name: string }>(dataSource, 'select current_user as name'),
  );
const rolesOf = (url: string) => DatabaseHosts.of(url)!.roles.map(({ role }) => role);

describe('a connection finds the server if one of the hosts', () => {
  test.each([
    ['has a wrong port', () => `127.0.0.1:${unusedPort},127.0.0.1:PORT`, ['unreachable', 'primary']],
    [
      'is an IPv6 address without a server',
      () => `[::1]:${unusedPort},127.0.0.1:PORT`,
      ['unreachable', 'primary'],
    ],
    ['has an unknown name', () => 'none.invalid:PORT,127.0.0.1:PORT', ['unreachable', 'primary']],
    ['is another name of the same server', () => 'localhost:PORT,127.0.0.1:PORT', ['primary', 'primary']],
  ])('%s', async (_what, hosts, roles) => {
    const url = urlWith(hosts());
    expect((await currentUser(url)).name).toBe('mooring');
    expect(rolesOf(url)).toEqual(roles);
    const [one, other] = hosts().split(',');
    expect((await currentUser(urlWith(`${other!},${one!}`))).name).toBe('mooring');
  });

  test('has a wrong port, and the password contains a comma', async () => {
    const url = new URL(database.url);
    Object.assign(url, { username: 'comma', password: encodeURIComponent(PASSWORD) });
    const several = urlWith(`127.0.0.1:${unusedPort},127.0.0.1:PORT`, url.href);
    expect((await currentUser(several)).name).toBe('comma');
  });
});

test('if every host refuses the password, the error says so and names all hosts and the role', async () => {
  const url = new URL(database.url);
  url.password = 'wrong';
  const several = urlWith('localhost:PORT,127.0.0.1:PORT', url.href);
  const failure = await currentUser(several).catch((error: unknown) => databaseFailure(error, several));
  expect(String(failure)).toContain(
    `PostgreSQL at localhost:${port}, 127.0.0.1:${port} refuses the password of the role mooring`,
  );
});

test('each host needs a certificate for its name', async () => {
  const terminal = new Terminal({});
  const server = await TlsPostgres.open(database.url);
  try {
    server.certificate = makeCertificate('127.0.0.1');
    writeFileSync(terminal.file('ca.pem'), server.certificate.cert);
    const url = server.url({ sslmode: 'verify-full', sslrootcert: terminal.file('ca.pem') });
    const { host } = new URL(url);
    const several = url.replace(host, `${host.replace('127.0.0.1', 'localhost')},${host}`);
    expect((await currentUser(several)).name).toBe('mooring');
    expect(DatabaseHosts.of(several)!.roles).toMatchObject([
      { role: 'unreachable', error: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } },
      { role: 'primary' },
    ]);
  } finally {
    await server.close();
  }
});
