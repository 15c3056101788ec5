import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { FORWARDING_HEADERS } from '../support/canary-addresses.js';
import { Service } from '../support/harness.js';

/** Headers that the service does not read: those of a browser, and one whose name is in no list of forwarding headers. */
const UNREAD = {
  'user-agent': 'KanariAgent/5.1',
  'sec-ch-ua-platform': '"macOS"',
  'x-unknown': '203.0.113.77',
};

const requests: IncomingMessage[] = [];

const service = await Service.start();
service.app.getHttpServer().on('request', (request: IncomingMessage) => requests.push(request));

test('no property of a request gives the address, port or family of its caller', async () => {
  await service.call('GET', '/health/live');
  const { socket } = requests.at(-1)!;
  expect([socket.remoteAddress, socket.remotePort, socket.remoteFamily]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  const { _getpeername: getPeerName, _peername: cachedName } = socket as unknown as Record<string, unknown>;
  expect([(getPeerName as () => unknown)(), cachedName]).toEqual([{}, {}]);
  // The getters of Node's Socket prototype return no address either. Node caches an address in `_peername`: the service has made
  // this property read-only.
  const nodeProperties = Object.getOwnPropertyDescriptors(Socket.prototype) as PropertyDescriptorMap;
  for (const name of ['remoteAddress', 'remotePort', 'remoteFamily']) {
    expect((nodeProperties[name]!.get as () => unknown).call(socket)).toBeUndefined();
  }
  expect((nodeProperties['_getpeername']!.value as () => unknown).call(socket)).toEqual({});
  expect(() => Object.assign(socket, { _peername: { address: 'x' } })).toThrow(TypeError);
  expect(requests.at(-1)!.connection.remoteAddress).toBeUndefined();
});

test.each(Object.keys(FORWARDING_HEADERS))(
  'the header %s is removed from a request in any spelling of upper and lower case',
  async (name) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
      await service.call('GET', '/health/live', undefined, {
        [spelling]: FORWARDING_HEADERS[name]!,
        accept: 'application/json',
      });
      const { headers, rawHeaders } = requests.at(-1)!;
      expect(headers.accept).toBe('application/json');
      expect(Object.keys(headers)).not.toContain(name.toLowerCase());
      expect(rawHeaders.map((each) => each.toLowerCase())).not.toContain(name.toLowerCase());
      expect(rawHeaders.length % 2).toBe(0);
      expect(rawHeaders).toContain('accept');
    }
  },
);

test('only the headers that the service reads are kept, in their order', async () => {
  const read = { 'accept-language': 'de', 'idempotency-key': '"1"', 'webhook-id': 'msg_1' };
  await service.call('GET', '/health/live', undefined, { ...FORWARDING_HEADERS, ...UNREAD, ...read });
  const { headers, rawHeaders } = requests.at(-1)!;
  expect(headers).toMatchObject(read);
  const removed = Object.keys({ ...FORWARDING_HEADERS, ...UNREAD }).map((name) => name.toLowerCase());
  expect(Object.keys(headers).filter((name) => removed.includes(name))).toEqual([]);
  const names = rawHeaders.filter((_each, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(names).toEqual(Object.keys(headers));
});

test('headersDistinct, which nothing reads, is empty', async () => {
  await service.call('GET', '/health/live', undefined, {
    ...FORWARDING_HEADERS,
    ...UNREAD,
    'if-match': '"1"',
  });
  expect(requests.at(-1)!.headersDistinct).toEqual({});
});
