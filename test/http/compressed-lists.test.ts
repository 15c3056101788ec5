import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';

let service: Service;
let authorization: string;
beforeAll(async () => {
  service = await Service.start();
  authorization = `Bearer ${await service.staffToken('support')}`;
  for (let index = 0; index < 10; index += 1) await service.issue();
});
afterAll(() => service.close());

const DECODERS = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  none: (body: Buffer) => body,
};

/** Sends a request without the decompression of `fetch`. */
async function get(path: string, acceptEncoding?: string) {
  const headers = {
    authorization,
    ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
  };
  const sent = request(`${service.url}/support/api/${path}`, { headers }).end();
  const [answer] = await once(sent, 'response');
  const body = await buffer(answer);
  const { 'content-encoding': encoding = 'none', vary } = answer.headers;
  const json = JSON.parse(String(DECODERS[encoding as keyof typeof DECODERS](body)));
  return { encoding, vary, bytes: body.length, json };
}

test.each([
  ['br', 'gzip, deflate, br, zstd'],
  ['gzip', 'gzip'],
  ['gzip', 'GZIP;q=0.5, br;q=0'],
  ['none', 'br;q=0, gzip; q=0.0, deflate'],
  ['none', ''],
  ['none', undefined],
])('the audit trail is sent in the encoding %s to a client that accepts %j', async (encoding, accepted) => {
  const plain = await get('audit');
  const found = await get('audit', accepted);
  expect(found).toMatchObject({ encoding, vary: 'accept-encoding', json: plain.json });
  if (encoding !== 'none') expect(found.bytes).toBeLessThan(plain.bytes / 2);
});

test('a short response is not compressed', async () => {
  expect(await get('manifests', 'br')).toMatchObject({ encoding: 'none', vary: undefined });
});
