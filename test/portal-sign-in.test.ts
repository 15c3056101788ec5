import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Service } from './harness.js';
import { Browser } from './portal-harness.js';

const NOON = '2026-11-20T13:00:00Z';

let service: Service;
beforeAll(async () => void (service = await Service.start()));
beforeEach(() => service.clock.set(NOON));
afterAll(() => service.close());

test('a code by mail signs in, and shows every license of the address', async () => {
  const first = await service.issue({ email: 'ada@example.com' });
  const second = await service.issue({ email: 'ada@example.com' });
  await service.issue({ email: 'grace@example.com' });
  const browser = await new Browser(service).byCode('ada@example.com');
  const { status, json } = await browser.call('GET', '/licenses');
  expect(status).toBe(200);
  expect(json).toMatchObject({ signed_in_by: 'code', email: 'ada@example.com' });
  expect(json.licenses.map(({ id }: { id: string }) => id)).toEqual([second.license_id, first.license_id]);
});
