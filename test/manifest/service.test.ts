import { generateKeyPairSync } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { LOCKS } from '../../src/database/locks.js';
import { AppLogger } from '../../src/core/logger.js';
import { ManifestKeys } from '../../src/keys/manifests/manifest-keys.js';
import {
  manifestBytes,
  signManifest,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { PublishError } from '../../src/manifest/manifest.rules.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { createDatabase, connect, type TestDatabase } from '../support/harness.js';
import { ONLY_INTERVALS } from '../support/only-intervals.js';
import { WAITING_ADVISORY_LOCKS } from '../support/tables.js';
import { signUnchecked, openManifests, nextContent, type Manifests } from './hand-signed-manifests.js';

const AUDIT_CONTEXT = { actor: 'test', reason: null };
const { privateKey } = generateKeyPairSync('ed25519');
/** The argument of a publisher who requests a withdrawal. */
const IS_WITHDRAWAL = true;

describe('a publisher', () => {
  let database: TestDatabase;
  let sql: pg.Client;
  let manifests: Manifests;
  beforeAll(async () => {
    database = await createDatabase();
    sql = await connect(database.url);
    manifests = await openManifests(database.url, privateKey);
  });
  afterAll(async () => manifests[Symbol.asyncDispose]());

  const audit = async () => (await sql.query('select action, change from audit_event order by at, id')).rows;

  test('cannot withdraw the first version', async () => {
    expect(await manifests.service.findWithdrawalTarget()).toBeNull();
    await manifests.publish(manifests.next('1.0'));
    expect(await manifests.service.findWithdrawalTarget()).toBeNull();
  });

  test('can check a manifest without a change, and then publish it', async () => {
    const before = await audit();
    const content = manifests.next('2.0');
    const document = manifests.sign(content);
    expect(await manifests.service.checkPublishable(document)).toEqual(content);
    expect([await audit(), manifests.service.live!.content.version]).toEqual([before, '1.0']);
    expect(await manifests.service.publish(document, AUDIT_CONTEXT)).toEqual(content);
    expect(manifests.service.live!.content).toEqual(content);
    expect(await audit()).toEqual([
      ...before,
      {
        action: 'manifest.publish',
        change: { sequence: 2, version: '2.0', before: { sequence: 1, version: '1.0' } },
      },
    ]);
  });

  test('can publish the live manifest again, which changes nothing, unless it has expired', async () => {
    const before = await audit();
    const { body, content } = manifests.service.live!;
    const document = JSON.parse(body) as SignedManifest;
    expect(await manifests.service.checkPublishable(document)).toEqual(content);
    expect(await manifests.service.publish(document, AUDIT_CONTEXT)).toEqual(content);
    expect(await audit()).toEqual(before);
    const expired = jest.spyOn(Clock.prototype, 'now').mockReturnValue(new Date(content.expires_at));
    await expect(manifests.service.publish(document, AUDIT_CONTEXT)).rejects.toThrow('This manifest expired');
    expired.mockRestore();
  });

  test('cannot publish the live manifest again as a withdrawal, which would withdraw nothing', async () => {
    const document = JSON.parse(manifests.service.live!.body) as SignedManifest;
    const sentence = 'This manifest withdraws nothing: the live version is 2.0, and this one is 2.0.';
    const check = manifests.service.checkPublishable(document, IS_WITHDRAWAL);
    await expect(check).rejects.toThrow(sentence);
    const publication = manifests.service.publish(document, AUDIT_CONTEXT, IS_WITHDRAWAL);
    await expect(publication).rejects.toThrow(sentence);
  });

  test('can withdraw a version, also in a check, only if a withdrawal is requested', async () => {
    const document = manifests.sign(await manifests.withdrawal());
    await expect(manifests.service.checkPublishable(document)).rejects.toThrow(PublishError);
    await expect(manifests.service.publish(document, AUDIT_CONTEXT)).rejects.toThrow(PublishError);
    expect(manifests.service.live!.content.version).toBe('2.0');
    expect(await manifests.service.checkPublishable(document, IS_WITHDRAWAL)).toMatchObject({
      version: '1.0',
    });
    await manifests.service.publish(document, AUDIT_CONTEXT, IS_WITHDRAWAL);
    expect(manifests.service.live!.content.version).toBe('1.0');
    expect((await audit()).at(-1)).toEqual({
      action: 'manifest.withdraw',
      change: { sequence: 3, version: '1.0', before: { sequence: 2, version: '2.0' } },
    });
  });

  test('can repeat a withdrawal, which changes nothing', async () => {
    const before = await audit();
    const { body, content } = manifests.service.live!;
    const document = JSON.parse(body) as SignedManifest;
    expect(await manifests.service.publish(document, AUDIT_CONTEXT, IS_WITHDRAWAL)).toEqual(content);
    expect(await audit()).toEqual(before);
  });

  test('is refused if an unsigned copy differs from the signed member', async () => {
    const content = manifests.next('3.0');
    const { signed } = manifests.sign(content);
    const document = signUnchecked(signed, { ...content, version: '3.1' }, privateKey);
    for (const attempt of [
      manifests.service.checkPublishable(document),
      manifests.service.publish(document, AUDIT_CONTEXT),
    ])
      await expect(attempt).rejects.toThrow('The unsigned copy of version differs from the signed value.');
    expect(manifests.service.live!.content.version).toBe('1.0');
  });

  test('is refused if another instance has published meanwhile, also before the next poll', async () => {
    await using other = await openManifests(database.url, privateKey);
    const stale = manifests.next('4.0');
    await other.publish(other.next('5.0'));
    await expect(manifests.service.checkPublishable(manifests.sign(stale))).rejects.toThrow(/5\.0/);
    expect(manifests.service.live!.content.version).toBe('5.0');
    expect(manifests.service.versions.find('5.0')).toMatchObject({ sequence: 4, isWithdrawn: false });
  });

  test('waits for a concurrent publisher', async () => {
    const before = manifests.service.live!.content.sequence;
    await sql.query('select pg_advisory_lock($1)', [LOCKS.publish]);
    const state = { isOver: false };
    const publishing = manifests.publish(manifests.next('6.0')).finally(() => (state.isOver = true));
    while (!state.isOver && (await sql.query(WAITING_ADVISORY_LOCKS, [LOCKS.publish])).rowCount === 0);
    expect(state.isOver).toBe(false);
    await sql.query('select pg_advisory_unlock($1)', [LOCKS.publish]);
    await publishing;
    expect(manifests.service.live!.content).toMatchObject({ version: '6.0', sequence: before + 1 });
  });

  test('has published a manifest also if it cannot be read afterwards', async () => {
    const document = manifests.sign(manifests.next('7.0'));
    const refresh = jest.spyOn(manifests.service, 'refresh').mockRejectedValue(new Error('unreadable'));
    await manifests.service.publish(document, AUDIT_CONTEXT);
    refresh.mockRestore();
    await manifests.service.refresh();
    expect(manifests.service.live!.signed).toBe(document.signed);
  });

  test('sees the manifests of the database at a refresh after the restore of a backup', async () => {
    await sql.query('set session_replication_role = replica'); // disables the triggers that make the rows append-only
    await sql.query('delete from manifest where sequence >= 4');
    await manifests.service.refresh();
    expect(manifests.service.live!.content.version).toBe('1.0');
    expect(manifests.service.versions.find('5.0')).toBeUndefined();
    // Now another manifest gets the same sequence, and then all manifests are deleted.
    await sql.query('delete from manifest where sequence = 3');
    await using other = await openManifests(database.url, privateKey);
    await other.publish(other.next('2.1'));
    await manifests.service.refresh();
    expect(manifests.service.live!.content).toMatchObject({ version: '2.1', sequence: 3 });
    await sql.query('delete from manifest');
    await manifests.service.refresh();
    expect([manifests.service.live, manifests.service.versions.find('1.0')]).toEqual([null, undefined]);
  });
});

describe('a service', () => {
  const logged: string[] = [];
  let query: jest.Mock<(sql: string, values: [number]) => Promise<unknown[]>>;
  let service: ManifestService;
  beforeEach(() => {
    jest.useFakeTimers(ONLY_INTERVALS);
    logged.length = 0;
    query = jest.fn();
    query.mockRejectedValue(new Error('unreadable'));
    const sink = new Writable({ write: (chunk, _encoding, done) => (logged.push(String(chunk)), done()) });
    service = new ManifestService(
      { query } as unknown as DataSource,
      new ManifestKeys(new Map()),
      new Config({}),
      new Clock(),
      new AppLogger('warn', sink),
    );
  });
  afterEach(() => {
    service.beforeApplicationShutdown();
    jest.useRealTimers();
  });

  test('reads all manifests once, and then only the live one and newer ones', async () => {
    const rows: (SignedManifest & { sequence: number })[] = [];
    query.mockImplementation(async (_sql, [from]) => rows.filter(({ sequence }) => sequence >= from));
    for (const version of ['1.0', '2.0', '3.0']) {
      const content = nextContent(service.live, version, null);
      rows.push({ ...signManifest(manifestBytes(content), [privateKey]), sequence: content.sequence });
      await service.refresh();
      expect(service.live!.content).toEqual(content);
    }
    const { live, versions } = service;
    await service.refresh();
    expect(query.mock.calls.map(([, [from]]) => from)).toEqual([0, 1, 2, 3]);
    expect([service.live === live, service.versions === versions]).toEqual([true, true]);
    expect(versions.newestBelow('3.0')).toMatchObject({ version: '2.0' });
  });

  test('starts and logs an error if it cannot read the manifests', async () => {
    await service.onModuleInit();
    // 50 is the level `error` of pino.
    expect([service.live, logged]).toEqual([null, [expect.stringContaining('"level":50')]]);
  });

  test('polls every two seconds until it ends, and logs a failure once until a poll succeeds', async () => {
    service.onApplicationBootstrap();
    const poll = async () => {
      jest.advanceTimersByTime(2_000);
      await new Promise(setImmediate);
    };
    for (let polls = 1; polls <= 3; polls++) {
      await poll();
      expect([query.mock.calls.length, logged.length]).toEqual([polls, 1]);
    }
    query.mockResolvedValueOnce([]);
    await poll();
    await poll();
    expect(logged).toHaveLength(2);
    service.beforeApplicationShutdown();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('does not log a poll that fails because the connections were closed meanwhile', async () => {
    const poll = Promise.withResolvers<unknown[]>();
    query.mockReturnValue(poll.promise);
    service.onApplicationBootstrap();
    jest.advanceTimersByTime(2_000);
    while (query.mock.calls.length === 0) await new Promise(setImmediate);
    service.beforeApplicationShutdown();
    poll.reject(new Error('closed'));
    await poll.promise.catch(() => undefined);
    await new Promise(setImmediate);
    expect(logged).toEqual([]);
  });
});
