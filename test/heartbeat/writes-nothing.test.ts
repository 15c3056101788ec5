import { expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { poolOf } from '../../src/database/data-source.js';
import { startOwnPostgres } from '../support/databases/own-postgres.js';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import { signLicenseToken, type LicenseClaims } from '../../src/keys/tokens/license-token.js';
import { waitForJobs } from '../erasure/harness.js';
import { type Answer, AUDIT_CONTEXT, Service, connect } from '../support/harness.js';
import { publish } from '../manifest/publish.js';

/** A separate server, because transaction ids are counted per server and no other test may use one. */
const server = await startOwnPostgres();
const service = await Service.start({ databaseUrl: server.url });
const observer = await connect(server.url);
await observer.query('alter system set autovacuum = off');
await observer.query('select pg_reload_conf()');

async function rows<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  return (await observer.query<Row>(sql)).rows;
}

/** Reads all rows with their position and the transactions that wrote and locked them, and all sequences. */
async function dump(): Promise<Record<string, unknown>> {
  const tables = await rows<{ name: string }>(
    `select quote_ident(nspname) || '.' || quote_ident(relname) as name
     from pg_class join pg_namespace n on n.oid = relnamespace
     where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema') and nspname !~ '^pg_toast'
     order by 1`,
  );
  const content: Record<string, unknown> = { sequences: await rows('select * from pg_sequences') };
  for (const { name } of tables) {
    content[name] = await rows(`select ctid, xmin, xmax, t::text as row from ${name} t order by ctid`);
  }
  return content;
}

/** Reads the next transaction id. The query itself uses none. */
async function readNextTransaction(): Promise<string> {
  const [row] = await rows<{ next: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
  return row!.next;
}

/** Counts the written rows. A connection reports its counts when it ends, so all connections are ended first. */
async function countWrites(): Promise<unknown> {
  const others =
    "datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()";
  const pool = poolOf(service.app.get(DataSource));
  // This is repeated, because the service may open a connection meanwhile to poll for a manifest.
  const end = () => rows(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`);
  while ((await end()).length + pool.totalCount + service.database.totalCount > 0) await pause(5);
  return (
    await rows(
      'select tup_inserted, tup_updated, tup_deleted from pg_stat_database where datname = current_database()',
    )
  )[0];
}

/** Reads the counts of written rows, the next transaction id, and all rows. Each changes with a write. */
async function measure(): Promise<unknown> {
  const counts = await countWrites();
  return { counts, next: await readNextTransaction(), content: await dump() };
}

/** Sends heartbeats, 50 at a time. @returns how many had each outcome: `ok` or the code of the refusal */
async function countAnswers(heartbeats: (() => Promise<Answer>)[]): Promise<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (let at = 0; at < heartbeats.length; at += 50) {
    const answers = await Promise.all(heartbeats.slice(at, at + 50).map((send) => send()));
    for (const { status, json } of answers) {
      const outcome = status === 200 ? 'ok' : json.code;
      counted[outcome] = (counted[outcome] ?? 0) + 1;
    }
  }
  return counted;
}

const repeat = <T>(times: number, make: (i: number) => T) => Array.from({ length: times }, (_, i) => make(i));

test('the measurement changes with an activation, and with a heartbeat with telemetry', async () => {
  const license = await service.issue();
  const before = await measure();
  const { token } = (await service.activate(license)).json;
  const between = await measure();
  await service.heartbeat(token, { telemetry: { arch: 'arm64' } });
  const after = await measure();
  for (const [earlier, later] of [
    [before, between],
    [between, after],
  ] as Record<string, unknown>[][]) {
    for (const part of ['counts', 'next', 'content']) expect(later![part]).not.toEqual(earlier![part]);
  }
});

test('1,000 heartbeats without telemetry write no row, take no row lock and use no transaction id', async () => {
  const license = await service.issue({ machines_allowed: 10 });
  const tokens = await Promise.all(
    repeat(10, async (i) => (await service.activate(license, `machine ${i}`)).json.token as string),
  );
  const before = await measure();
  const counted = await countAnswers(
    repeat(1_000, (i) => async () => {
      const answer = await service.heartbeat(tokens[i % 10]!);
      tokens[i % 10] = answer.json.token;
      return answer;
    }),
  );
  expect(counted).toEqual({ ok: 1_000 });
  expect(await measure()).toEqual(before);
});

test('refused heartbeats write nothing either, with and without telemetry', async () => {
  const issueAndActivate = async (terms: Parameters<Service['issue']>[0] = {}) => {
    const license = await service.issue(terms);
    const { json } = await service.activate(license);
    return { ...license, token: json.token as string, id: json.activation.id as string };
  };
  const released = await issueAndActivate();
  await service.app.get(ReleaseService).release(released.id, AUDIT_CONTEXT);
  const revoked = await issueAndActivate();
  await service.setLicense(revoked.license_id, { staff_status: 'revoked' });
  const expires_at = new Date('2026-11-01T00:00:00Z');
  const expired = await issueAndActivate({ expires_at });
  await service.setLicense(expired.license_id, { on_expiry: 'stop' });
  const uncovered = await issueAndActivate({ expires_at });
  await publish(service, '3.2', '2027-01-01T00:00:00Z');
  const claims = decodeJwt(uncovered.token) as unknown as LicenseClaims;
  const withoutRow = signLicenseToken(service.app.get(KeyRing).active, { ...claims, sub: randomUUID() });
  // Waits for the mail jobs, which write as well.
  await waitForJobs(service);

  const tokens = [released.token, revoked.token, expired.token, uncovered.token, withoutRow, 'forged', ''];
  const before = await measure();
  const counted = await countAnswers(
    repeat(20, (i) =>
      tokens.map((token) => () => service.heartbeat(token, i % 2 ? { telemetry: { arch: 'arm64' } } : {})),
    ).flat(),
  );
  expect(counted).toEqual({
    binding_released: 20,
    license_revoked: 20,
    license_expired: 20,
    version_not_covered: 20,
    token_invalid: 40,
    invalid_request: 20,
  });
  expect(await measure()).toEqual(before);
});
