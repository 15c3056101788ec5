import { expect, test } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../src/core/config.js';
import { requireSameOrigin } from '../../src/http/sessions/same-origin.js';

const PUBLIC_URL = 'https://shop.example:8443/licenses';
const OWN_ORIGIN = 'https://shop.example:8443';
const COOKIE = 'mooring_staff=x';

function isRefused(method: string, headers: Record<string, string | undefined>): boolean {
  const request = { method, headers } as Partial<FastifyRequest> as FastifyRequest;
  try {
    requireSameOrigin(request, { publicUrl: PUBLIC_URL } as Config);
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'cross_origin' });
    return true;
  }
}

test.each<[boolean, Record<string, string>]>([
  [false, { origin: OWN_ORIGIN }],
  [false, { origin: OWN_ORIGIN, 'sec-fetch-site': 'cross-site', cookie: COOKIE }],
  [true, { origin: PUBLIC_URL }],
  [true, { origin: 'https://shop.example' }],
  [true, { origin: 'null' }],
  [true, { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
  [false, { 'sec-fetch-site': 'same-origin', cookie: COOKIE }],
  [false, { origin: '', 'sec-fetch-site': 'same-origin', cookie: COOKIE }],
  [true, { 'sec-fetch-site': 'same-site' }],
  [true, { 'sec-fetch-site': 'none' }],
  [true, { 'sec-fetch-site': 'cross-site' }],
  [false, {}],
  [true, { cookie: COOKIE }],
  [true, { cookie: '' }],
])('a write is refused: %j, with the headers %j', (refused, headers) => {
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'])
    expect([method, isRefused(method, headers)]).toEqual([method, refused]);
});

test.each(['GET', 'HEAD'])('a read is never refused: %s', (method) => {
  expect(isRefused(method, { origin: 'https://evil.example', cookie: COOKIE })).toBe(false);
  expect(isRefused(method, { cookie: COOKIE })).toBe(false);
});
