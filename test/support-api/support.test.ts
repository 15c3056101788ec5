import { beforeEach, expect, test } from '@jest/globals';
import { hash, randomUUID } from 'node:crypto';
import { DAY_MS } from '../../src/core/clock.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { StaffTokensService } from '../../src/staff/tokens/staff-tokens.service.js';
import { AUDIT_CONTEXT, NOW, Service } from '../support/harness.js';

const service = await Service.start();
const staff = service.app.get(StaffService);
const tokens = service.app.get(StaffTokensService);
await staff.add('grace@example.com', 'support', AUDIT_CONTEXT);
const token = (await tokens.create('grace@example.com', AUDIT_CONTEXT)).token;
beforeEach(() => service.clock.set(NOW));

const SEARCH = '/support/api/licenses/search';
const RELEASE = `/support/api/activations/${randomUUID()}/release`;
const ERASURES = '/support/api/erasures';

const search = (body: unknown, headers: Record<string, string> = {}) =>
  service.call('POST', SEARCH, body, { authorization: `Bearer ${token}`, ...headers });

/** Functions that return headers with which no request is authorized. */
const invalidHeaders: Record<string, () => Record<string, string>> = {
  'no header': () => ({}),
  'an empty header': () => ({ authorization: '' }),
  'no token': () => ({ authorization: 'Bearer' }),
  'another scheme': () => ({ authorization: `Basic ${token}` }),
  'no scheme': () => ({ authorization: token }),
  'an unknown token': () => ({ authorization: `Bearer mst_${'A'.repeat(43)}` }),
  'a truncated token': () => ({ authorization: `Bearer ${token.slice(0, -1)}` }),
  'a token in another case': () => ({ authorization: `Bearer ${token.toLowerCase()}` }),
  'a token and more': () => ({ authorization: `Bearer ${token} x` }),
  'two tokens': () => ({ authorization: `Bearer ${token}, Bearer ${token}` }),
  "the token's hash": () => ({ authorization: `Bearer ${hash('sha256', token)}` }),
  'a cookie': () => ({ cookie: `token=${token}; mooring_staff=${token}`, origin: 'http://localhost:3000' }),
};
const REFUSED = { status: 401, code: 'sign_in_required', client_action: 'fix', challenge: 'Bearer' };

async function sendRequest(path: string, headers: Record<string, string>, body: unknown = { email: 7 }) {
  const { status, json, headers: responseHeaders } = await service.call('POST', path, body, headers);
  const { code, client_action } = json;
  return { status, code, client_action, challenge: responseHeaders['www-authenticate'] };
}

test.each(Object.keys(invalidHeaders))('the support API answers 401 to a caller with %s', async (kind) => {
  for (const path of [
    SEARCH,
    RELEASE,
    '/support/api/activations/x/release',
    ERASURES,
    `${ERASURES}/${randomUUID()}/run`,
  ]) {
    expect(await sendRequest(path, invalidHeaders[kind]!())).toEqual(REFUSED);
    expect(await sendRequest(`${path}?token=${token}`, invalidHeaders[kind]!())).toEqual(REFUSED);
  }
});

test('the support API accepts a token for exactly 90 days', async () => {
  const body = { email: 'unknown@example.com' };
  const created = await tokens.create('grace@example.com', AUDIT_CONTEXT);
  const authorization = `Bearer ${created.token}`;
  service.clock.advance(90 * DAY_MS - 1);
  expect((await search(body, { authorization })).status).toBe(200);
  service.clock.advance(1);
  expect((await search(body, { authorization })).json.code).toBe('sign_in_required');
});

test('the support API refuses a token that was revoked or whose owner was removed', async () => {
  const body = { email: 'unknown@example.com' };
  const created = await tokens.create('grace@example.com', AUDIT_CONTEXT);
  const authorization = `Bearer ${created.token}`;
  expect((await search(body, { authorization })).status).toBe(200);
  await tokens.revoke(created.id, AUDIT_CONTEXT);
  expect((await search(body, { authorization })).json.code).toBe('sign_in_required');
  await staff.add('linus@example.com', 'admin', AUDIT_CONTEXT);
  const other = {
    authorization: `bearer ${(await tokens.create('linus@example.com', AUDIT_CONTEXT)).token}`,
  };
  expect((await search(body, other)).status).toBe(200);
  await service.sql("delete from staff where email = 'linus@example.com'");
  expect((await search(body, other)).json.code).toBe('sign_in_required');
});
