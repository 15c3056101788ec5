import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FORWARDING } from '../support/canary-addresses.js';
import { Service } from '../support/harness.js';

let service: Service;
const requests: IncomingMessage[] = [];

beforeAll(async () => {
  service = await Service.start();
  service.app.getHttpServer().on('request', (request: IncomingMessage) => requests.push(request));
});
afterAll(() => service.close());

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
  // The getters of Node's Socket prototype return no address either, and none can be cached on the socket.
  const nodeProperties = Object.getOwnPropertyDescriptors(Socket.prototype) as PropertyDescriptorMap;
  for (const name of ['remoteAddress', 'remotePort', 'remoteFamily']) {
    expect((nodeProperties[name]!.get as () => unknown).call(socket)).toBeUndefined();
  }
  expect((nodeProperties['_getpeername']!.value as () => unknown).call(socket)).toEqual({});
  expect(() => Object.assign(socket, { _peername: { address: 'x' } })).toThrow(TypeError);
  expect(requests.at(-1)!.connection.remoteAddress).toBeUndefined();
});

test.each(Object.keys(FORWARDING))(
  'the header %s is removed from a request in any spelling of upper and lower case',
  async (name) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
      await service.call('GET', '/health/live', undefined, {
        [spelling]: FORWARDING[name]!,
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

test('all forwarding headers of one request are removed, and the other headers keep their order', async () => {
  await service.call('GET', '/health/live', undefined, { ...FORWARDING, 'x-kept': 'yes' });
  const { headers, rawHeaders } = requests.at(-1)!;
  const forwarding = Object.keys(FORWARDING).map((name) => name.toLowerCase());
  expect(Object.keys(headers).filter((name) => forwarding.includes(name))).toEqual([]);
  const names = rawHeaders.filter((_each, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(names).toEqual(Object.keys(headers));
  expect(headers['x-kept']).toBe('yes');
});

test('headersDistinct contains the other headers, and no forwarding header', async () => {
  await service.call('GET', '/health/live', undefined, { ...FORWARDING, 'x-kept': 'yes' });
  const { headersDistinct } = requests.at(-1)!;
  expect(headersDistinct['x-kept']).toEqual(['yes']);
  expect(Object.keys(headersDistinct).toSorted()).toEqual(Object.keys(requests.at(-1)!.headers).toSorted());
});
