import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { packageVersion } from '../../src/core/package-version.js';
import { Service } from '../support/harness.js';
import {
  changesDuring,
  labelsOf,
  scrape,
  scrapeText,
  scrapeUntil,
  withPrefixes,
} from '../support/http/scrape.js';
import { whileLocked } from '../support/tables.js';

const service = await Service.start({ environment: { METRICS_PORT: '0' } });
const { token } = await service.issueActivated();

describe('heartbeats', () => {
  test('with a genuine token are counted by the database that answered, whether confirmed or refused', async () => {
    const released = (await service.activate(await service.issue())).json;
    await service.sql(`update activation set ended_at = now(), ended_reason = 'released' where id = $1`, [
      released.activation.id,
    ]);
    const changes = await changesDuring(service, async () => {
      expect((await service.heartbeat(token)).status).toBe(200);
      expect((await service.heartbeat(released.token)).status).toBe(403);
      expect((await service.heartbeat('no token')).status).toBe(403);
    });
    expect(withPrefixes(changes, 'mooring_heartbeats')).toEqual({
      'mooring_heartbeats_total{database="primary"}': 2,
    });
  });

  test('are counted by the size of their batches', async () => {
    const changes = await changesDuring(service, () =>
      Promise.all(
        Array.from({ length: 20 }, () => service.heartbeat(token, { telemetry: { uptime_hours: 1 } })),
      ),
    );
    for (const batch of ['bindings', 'telemetry']) {
      const statements = changes[`mooring_batch_size_count{batch="${batch}"}`]!;
      expect(changes[`mooring_batch_size_sum{batch="${batch}"}`]).toBe(20);
      expect(statements).toBeGreaterThan(0);
      expect(changes[`mooring_batch_size_bucket{batch="${batch}",le="+Inf"}`]).toBe(statements);
    }
  });

  test('have their telemetry counted by outcome, and its invalid members counted without their names', async () => {
    const blocks = 'mooring_telemetry_blocks_total';
    const beat = (telemetry: unknown) => service.heartbeat(token, { telemetry });
    const changes = await changesDuring(service, async () => {
      await beat({ uptime_hours: 'canary', os_version: { canary: 1 }, canary_member: 'canary' });
      await beat({ uptime_hours: 2 });
      await beat('canary');
      await beat({ log: 'x'.repeat(9_000) });
      await whileLocked(service, 'telemetry_inbox', () => beat({ uptime_hours: 3 }));
    });
    expect(withPrefixes(changes, blocks, 'mooring_telemetry_members')).toEqual({
      [`${blocks}{outcome="stored"}`]: 2,
      [`${blocks}{outcome="refused"}`]: 2,
      [`${blocks}{outcome="failed"}`]: 1,
      mooring_telemetry_members_dropped_total: 2,
    });
    expect(await scrapeText(service)).not.toMatch(/canary|uptime_hours|os_version/);
  });
});

function busyFor(milliseconds: number): void {
  for (const until = performance.now() + milliseconds; performance.now() < until;) continue;
}

describe('the process', () => {
  test('reports its version, uptime, memory and processor time', async () => {
    const changes = await changesDuring(service, async () => busyFor(150));
    expect(changes['mooring_uptime_seconds']).toBeGreaterThan(0.15);
    expect(changes['mooring_cpu_seconds_total{mode="user"}']).toBeGreaterThan(0.01);
    const samples = await scrape(service);
    expect(samples['mooring_resident_memory_bytes']).toBeGreaterThan(10_000_000);
    expect(samples[`mooring_info{version="${packageVersion()}"}`]).toBe(1);
  });

  test('reports how late its event loop was since the previous scrape', async () => {
    const maximum = 'mooring_event_loop_delay_seconds{stat="max"}';
    for (let delay = 0; delay < 0.25; delay = (await scrape(service))[maximum]!) {
      // The measurement restarts with each scrape, which takes a turn or two of the event loop.
      await pause(30);
      busyFor(300);
    }
    await scrapeUntil(service, (samples) => samples[maximum]! < 0.25);
  });

  test('reports that the token keys on disk cannot be used', async () => {
    expect((await scrape(service))['mooring_token_keys_trouble']).toBe(0);
    const ring = join(service.dataDir, 'keys', 'tokens', 'ring.json');
    const text = readFileSync(ring);
    writeFileSync(ring, 'no ring');
    await scrapeUntil(service, (samples) => samples['mooring_token_keys_trouble'] === 1);
    writeFileSync(ring, text);
  });

  test('reports how long it collected garbage', async () => {
    const minor = 'mooring_gc_seconds_total{kind="minor"}';
    const before = (await scrape(service))[minor]!;
    let held: unknown[] = [];
    await scrapeUntil(service, (samples) => {
      held = Array.from({ length: 200_000 }, (_each, index) => ({ index }));
      return samples[minor]! > before;
    });
    expect(held).toHaveLength(200_000);
  });
});

test('no metric contains personal data, and there are only known labels', async () => {
  const license = await service.issue({ email: 'canary@example.com' });
  const { json } = await service.activate(license, 'canary', { hostname_hint: 'Canary Mac' });
  await service.heartbeat(json.token, { app_version: '9.9.9-canary', telemetry: { mac_model: 'Canary1,1' } });
  // The age of the oldest row of a table, with the label `of`, is absent while the table is empty.
  await service.sql(`insert into telemetry_inbox (id, received_on) values (gen_random_uuid(), '2026-11-17')`);
  await service.call('POST', '/v1/activate', { ...license, license_key: 'CANARY-KEY' });
  const text = await scrapeText(service);
  expect(text).not.toMatch(/canary|@|[0-9a-f]{8}-[0-9a-f]{4}|9\.9\.9|127\.0\.0|localhost/i);
  const labels = labelsOf(text);
  const known: Record<string, RegExp> = {
    batch: /^(bindings|replica_bindings|telemetry)$/,
    code: /^[a-z_]+$/,
    database: /^(primary|replica)$/,
    kind: /^(minor|major|incremental|weak_callbacks)$/,
    le: /^(\d+(\.\d+)?|\+Inf)$/,
    method: /^(GET|POST)$/,
    mode: /^(user|system)$/,
    of: /^(telemetry_inbox|telemetry|ended_activation)$/,
    outcome: /^(stored|refused|over_limit|failed)$/,
    reason: /^(waiting_time|concurrent_requests)$/,
    route: /^(none|\/[a-z0-9:*/_-]*)$/,
    stat: /^(median|p99|max)$/,
    status: /^[2-5]\d\d$/,
    table: /^(graphile_worker\.)?[a-z_]+$/,
    task: /^(mail_[a-z_]+|erasure|other)$/,
    version: new RegExp(`^${packageVersion().replaceAll('.', '\\.')}$`),
  };
  expect([...labels.keys()].toSorted()).toEqual(Object.keys(known));
  for (const [label, values] of labels)
    expect([label, [...values].filter((value) => !known[label]!.test(value))]).toEqual([label, []]);
});
