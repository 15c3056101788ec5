import { METHODS } from 'node:http';
import { expect, test } from '@jest/globals';
import { LIMITS } from '../../src/http/limits/load-limits.js';
import { PROBLEMS } from '../../src/http/problems/problem.js';
import { Service } from '../support/harness.js';
import { exchange, request } from '../support/http/raw-http.js';
import { changesDuring, labelsOf, scrape, scrapeText, scrapeUntil } from '../support/http/scrape.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { cancelLockWaitsDuring } from '../support/tables.js';

const SECONDS = 'mooring_http_request_duration_seconds';
const count = (route: string, method: string, status: number) =>
  `${SECONDS}_count{route="${route}",method="${method}",status="${status}"}`;
const refusal = (code: string) => `mooring_refusals_total{code="${code}"}`;

const service = await Service.start({ environment: { METRICS_PORT: '0' } });

/** Runs a function. @returns by how much it increased the counters of requests, refusals and shed requests */
async function countChanges(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const changes = await changesDuring(service, work);
  return Object.fromEntries(
    Object.entries(changes).filter(
      ([name]) => name.startsWith(`${SECONDS}_count`) || /refusals|shed/.test(name),
    ),
  );
}

test('a request is counted by the template of its route, its method and its status', async () => {
  const token = await service.staffToken('admin');
  const headers = { authorization: `Bearer ${token}` };
  const license = await service.issue();
  const changes = await countChanges(async () => {
    await service.activate(license);
    await service.activate(license, 'another');
    await service.call('GET', `/support/api/licenses/${license.license_id}`, undefined, headers);
    await service.call('GET', '/health/live');
    await service.call('GET', '/health/live');
  });
  expect(changes).toEqual({
    [count('/v1/activate', 'POST', 201)]: 1,
    [count('/v1/activate', 'POST', 409)]: 1,
    [count('/support/api/licenses/:id', 'GET', 200)]: 1,
    [count('/health/live', 'GET', 200)]: 2,
    [refusal('machine_limit_reached')]: 1,
  });
});

test('the durations of requests are counted in buckets, the last of which counts all', async () => {
  const { json } = await service.activate(await service.issue());
  await service.heartbeat(json.token);
  const samples = await scrape(service);
  const labels = 'route="/v1/heartbeat",method="POST",status="200"';
  const buckets = Object.entries(samples).filter(([name]) => name.startsWith(`${SECONDS}_bucket{${labels}`));
  const counts = buckets.map(([, value]) => value);
  expect(buckets.at(-1)![0]).toContain('le="+Inf"');
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(counts.at(-1)).toBe(samples[`${SECONDS}_count{${labels}}`]);
  expect(samples[`${SECONDS}_sum{${labels}}`]).toBeGreaterThan(0);
});

test('no caller can add a label value: unknown paths share one route, and unknown methods share one method', async () => {
  const textBefore = await service.call('GET', '/nowhere').then(() => scrapeText(service));
  // CONNECT has no HTTP response, and a response to HEAD does not show where it ends.
  const otherMethods = METHODS.filter((method) => !['CONNECT', 'HEAD'].includes(method));
  for (const [index, method] of otherMethods.entries()) {
    await exchange(service.url, [request(method, `/canary-${index}`)]);
    await exchange(service.url, [request(method, '/v1/heartbeat')]);
  }
  const paths = [
    '/%',
    '/%c3%28',
    '/v1/%00',
    '/assets/canary.js',
    '/portal/canary',
    `/support/api/licenses/${'9'.repeat(200)}`,
    '/v1/activate?canary=1',
    '/v1//activate',
    '//canary.example.com/',
    '/"canary"}\\n',
    '*',
  ];
  for (const path of paths) await exchange(service.url, [request('GET', path)]);
  const text = await scrapeText(service);
  const [before, after] = [labelsOf(textBefore), labelsOf(text)];
  const newRoutes = [...after.get('route')!].filter((route) => !before.get('route')!.has(route));
  expect(newRoutes).toEqual([]);
  expect(after.get('method')).toEqual(new Set(['DELETE', 'GET', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'other']));
  expect(text).not.toMatch(/canary/i);
});

test('problems are counted by code, including the responses to bytes that are not an HTTP request', async () => {
  const changes = await countChanges(async () => {
    await exchange(service.url, ['GARBAGE\r\n\r\n']);
    await exchange(service.url, [`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`]);
    await exchange(service.url, [request('GET', '/%')]);
    await service.call('POST', '/v1/activate', '{');
    await service.call('POST', '/v1/heartbeat', { token: 'no', app_version: '1.0.0' });
    await service.call('GET', '/v1/activate');
    await service.call('GET', '/v1/manifest');
  });
  expect(changes).toEqual({
    [refusal('malformed_request')]: 4,
    [refusal('token_invalid')]: 1,
    [refusal('method_not_allowed')]: 1,
    [refusal('no_version_published')]: 1,
    [count('none', 'GET', 400)]: 1,
    [count('none', 'GET', 405)]: 1,
    [count('/v1/activate', 'POST', 400)]: 1,
    [count('/v1/heartbeat', 'POST', 403)]: 1,
    [count('/v1/manifest', 'GET', 404)]: 1,
  });
  const codes = labelsOf(await scrapeText(service)).get('code');
  expect([...codes!]).toEqual(Object.keys(PROBLEMS));
});

test('requests under way are counted until they end', async () => {
  const license = await service.issue();
  const underWay = ({ mooring_http_requests_under_way }: Record<string, number>) =>
    mooring_http_requests_under_way;
  // Only the rows are locked, because the metrics read the table.
  const lock = await OpenTransaction.begin(service, 'select 1 from license for update');
  const activating = service.activate(license);
  await scrapeUntil(service, (samples) => underWay(samples) === 1);
  const answer = await cancelLockWaitsDuring(
    (sql) => service.sql(sql),
    async () => activating,
  );
  expect(answer.status).toBe(503);
  await lock.commit();
  await scrapeUntil(service, (samples) => underWay(samples) === 0);
});

test('shed requests are counted by reason', async () => {
  const { load } = service.app.getHttpAdapter().getInstance().requestCounts!;
  const changes = await countChanges(async () => {
    // The load is raised to the limit of concurrent requests.
    load.underWay += LIMITS.concurrentRequests;
    await service.call('GET', '/v1/manifest');
    await service.call('GET', '/health/live');
    load.underWay -= LIMITS.concurrentRequests;
  });
  expect(changes).toEqual({
    'mooring_http_requests_shed_total{reason="concurrent_requests"}': 1,
    [refusal('unavailable')]: 1,
    // The request is refused before its route is known.
    [count('none', 'GET', 503)]: 1,
    [count('/health/live', 'GET', 200)]: 1,
  });
});
