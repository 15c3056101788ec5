import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { HeartbeatService } from '../../src/heartbeat/heartbeat.service.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { AUDIT_CONTEXT, retryWhileUnavailable, Service } from '../support/harness.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';
import { query, StreamingReplica } from '../support/databases/replica-harness.js';

const REPLICA_WARNING = /^The replica is unavailable or too far behind/;

const first = await FragilePostgres.start();
const second = await StreamingReplica.of(first, 'second');
const replica = await StreamingReplica.of(first, 'replica');
const databaseUrl = first.url.replace(/@([^/]+)/, `@$1,${new URL(second.url).host}`);
const service = await Service.start({ databaseUrl, environment: { DATABASE_READ_URL: replica.url } });

const warnings = async () => (await service.call('GET', '/health/ready')).json.warnings as string[];
const isReplicaUsed = async () => !(await warnings()).some((text) => REPLICA_WARNING.test(text));

test('a replica that follows a former primary confirms no heartbeat after the promotion of another standby', async () => {
  const activation = await service.activate(await service.issue());
  await second.waitUntilCaughtUp();
  await replica.waitUntilCaughtUp();
  while (!(await isReplicaUsed())) await pause(20);
  const { answersBySource } = service.app.get(HeartbeatService);
  await service.heartbeat(activation.json.token);
  expect(answersBySource.replica).toBe(1);

  // The replica receives more than the standby, so its position stays ahead of that of the new primary.
  await second.kill();
  await query(first.url, `select pg_logical_emit_message(false, 'test', repeat('x', 1000000))`);
  await replica.waitUntilCaughtUp();
  await first.kill();
  await second.start();
  await second.promote();

  const release = () => service.app.get(ReleaseService).release(activation.json.activation.id, AUDIT_CONTEXT);
  for (;;) {
    const isReleased = await release().then(
      () => true,
      () => false,
    );
    if (isReleased) break;
    await pause(50);
  }
  while (await isReplicaUsed()) await pause(20);
  const { status, json } = await retryWhileUnavailable(() => service.heartbeat(activation.json.token));
  expect([status, json.code]).toEqual([403, 'binding_released']);
  expect(answersBySource.replica).toBe(1);
});
