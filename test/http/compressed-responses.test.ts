import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { BrotliCompress, brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { Browser } from '../license-portal/harness.js';
import { Service } from '../support/harness.js';

const service = await Service.start();
let authorization = `Bearer ${await service.staffToken('support')}`;
for (let index = 0; index < 10; index += 1) await service.issue();

const DECODERS = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  none: (body: Buffer) => body,
};

/** Sends a request of staff, without the decompression of `fetch`. */
const get = (path: string, acceptEncoding?: string) =>
  send(`/support/api/${path}`, { authorization }, acceptEncoding);

async function send(
  path: string,
  credentials: Record<string, string>,
  acceptEncoding?: string,
  body?: object,
) {
  const headers = {
    ...credentials,
    ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
    ...(body && { 'content-type': 'application/json' }),
  };
  const sent = request(service.url + path, { method: body ? 'POST' : 'GET', headers }).end(
    body && JSON.stringify(body),
  );
  const [answer] = await once(sent, 'response');
  const bytes = await buffer(answer);
  const { 'content-encoding': encoding = 'none', vary } = answer.headers;
  const json = JSON.parse(String(DECODERS[encoding as keyof typeof DECODERS](bytes)));
  return { encoding, vary, bytes: bytes.length, json };
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

describe('the lists of a holder and of staff', () => {
  const EMAIL = 'ada@example.com';
  let id: string;
  let cookie: string;
  beforeAll(async () => {
    ({ license_id: id } = await service.issue({ email: EMAIL, machines_allowed: 50 }));
    for (let index = 0; index < 9; index += 1) await service.issue({ email: EMAIL });
    await service.sql(
      `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
       select gen_random_uuid(), $1, sha256(n::text::bytea), 'Render node ' || n, '3.2.0', $2 from generate_series(1, 50) n`,
      [id, service.clock.now()],
    );
    await service.sql(
      `insert into release_request (id, activation_id, reason, asked_at)
       select gen_random_uuid(), id, 'The disk is broken.', $1 from activation`,
      [service.clock.now()],
    );
    for (let index = 0; index < 10; index += 1)
      await service.app.get(ErasureService).request(`holder-${index}@example.com`);
    for (let index = 0; index < 10; index += 1)
      await service.staffToken('support', `staff-${index}@example.com`);
    await service.sql(`insert into fleet_week values ('2026-11-15')`);
    await service.sql(
      `insert into crash_week (week_end, crash_sig, app_version, crashes)
       select '2026-11-15', lpad(to_hex(n), 16, '0'), '3.2.0', 1 from generate_series(1, 20) n`,
    );
    authorization = `Bearer ${await service.staffToken('admin', 'admin@example.com')}`;
    const browser = await new Browser(service).signInByCode(EMAIL);
    cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  });

  test.each([
    '/portal/api/session',
    '/portal/api/export',
    '/support/api/licenses/search',
    '/support/api/licenses/{id}',
    '/support/api/licenses/{id}/holder',
    '/support/api/release-requests',
    '/support/api/erasures',
    '/support/api/fleet/crash-groups',
    '/support/api/staff',
  ])('%s is compressed', async (path) => {
    const credentials: Record<string, string> = path.startsWith('/portal') ? { cookie } : { authorization };
    const search = path.endsWith('search') ? { email: EMAIL } : undefined;
    const read = (encoding?: string) => send(path.replace('{id}', id), credentials, encoding, search);
    const plain = await read();
    expect(plain).toMatchObject({ encoding: 'none', vary: 'accept-encoding' });
    expect(await read('br')).toMatchObject({ encoding: 'br', json: plain.json });
    // The length of a compressed response could reveal a secret (docs/decisions/0039).
    expect(JSON.stringify(plain.json)).not.toMatch(/MOOR_|"token"|"license_key"|#link=/);
  });
});

test('a short response is not compressed', async () => {
  expect(await get('manifests', 'br')).toMatchObject({ encoding: 'none', vary: undefined });
});

test('the texts of a page are compressed with the best quality', async () => {
  const plain = await send('/languages?page=portal', {});
  // The default quality of `brotliCompressSync` is the best one.
  for (const request of ['first', 'repeated']) {
    const { bytes, json } = await send('/languages?page=portal', {}, 'br');
    expect({ request, bytes }).toEqual({
      request,
      bytes: brotliCompressSync(JSON.stringify(plain.json)).length,
    });
    expect(json).toEqual(plain.json);
  }
});

test('a text of a page whose compression failed is compressed again for the next response', async () => {
  const path = '/languages?page=privacy';
  // The memory for a compression can be missing for a moment.
  const end = jest.spyOn(BrotliCompress.prototype, 'end').mockImplementationOnce(function (
    this: BrotliCompress,
  ) {
    return this.destroy(new Error('not enough memory'));
  });
  try {
    expect(await send(path, {}, 'br')).toMatchObject({ encoding: 'none', json: { status: 500 } });
    const plain = await send(path, {});
    for (const request of ['first', 'repeated'])
      expect({ request, ...(await send(path, {}, 'br')) }).toMatchObject({
        request,
        encoding: 'br',
        json: plain.json,
      });
    expect(end).toHaveBeenCalledTimes(2);
  } finally {
    end.mockRestore();
  }
});
