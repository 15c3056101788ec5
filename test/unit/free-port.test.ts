import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { Config } from '../../src/core/config.js';
import { isFree, withFreePort } from '../../src/database/embedded/free-port.js';
import { freePort } from '../support/processes/server-process.js';

test.each([[undefined], [''], [' '], ['localhost'], [' localhost '], [' 127.0.0.1 ']])(
  'with HOST %j the port is searched on the address on which the service listens',
  async (HOST) => {
    const hosts: string[] = [];
    const environment = await withFreePort({ HOST }, async (port, host) => {
      hosts.push(host);
      return port === 3001;
    });
    const { host, port } = new Config(environment);
    expect({ hosts, host, port }).toEqual({ hosts: [host, host], host: '127.0.0.1', port: 3001 });
  },
);

const hasIpv6 = await isFree(0, '::1');

(hasIpv6 ? test : test.skip)(
  'a port of 127.0.0.1 that another program uses at ::1 is not free, because `localhost` leads there',
  async () => {
    const port = await freePort();
    expect(await isFree(port, '127.0.0.1')).toBe(true);
    const other = createServer().listen(port, '::1');
    await once(other, 'listening');
    const whileUsed = await isFree(port, '127.0.0.1');
    await new Promise((resolve) => other.close(resolve));
    expect(whileUsed).toBe(false);
  },
);

test.each(['0', ' 0'])('PORT %j is replaced by the number of a free port', async (PORT) => {
  expect(new Config(await withFreePort({ PORT })).port).toBeGreaterThan(0);
});

test('PORT 0 stays 0 if HOST is no address of this machine, so that a sentence about HOST ends the start', async () => {
  // An address for documentation (RFC 5737).
  const environment = await withFreePort({ PORT: '0', HOST: '192.0.2.1' });
  expect(environment['PORT']).toBe('0');
  expect(() => new Config(environment)).toThrow(/^Development mode runs on a loopback address alone/);
});

test.each([
  [{ PORT: ' 3005 ' }, 3005],
  [{ NODE_ENV: 'production ' }, undefined],
])('with %j no port is searched', async (environment, port) => {
  const found = await withFreePort(environment, () => Promise.reject(new Error('a port was searched')));
  expect(found).toBe(environment);
  if (port !== undefined) expect(new Config(found).port).toBe(port);
});
