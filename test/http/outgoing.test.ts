import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { call, createDatabase } from '../support/harness.js';
import { temporaryFolder } from '../support/folders.js';
import { documentedRoutes, fillPath } from '../support/http/openapi.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';

/** Preloaded into the service: reports every connection, datagram and DNS lookup that the process begins. */
const PRELOAD = `
import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';
import { writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const report = (what) => writeSync(2, 'OUTGOING ' + what + '\\n');
const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args;
  const { port, host, path } = typeof options === 'object' ? options : { port: options, host: args[1] };
  report(path ?? (host ?? 'localhost') + ':' + port);
  return connect.apply(this, args);
};
for (const name of ['send', 'connect']) {
  const original = dgram.Socket.prototype[name];
  dgram.Socket.prototype[name] = function (...args) { report('datagram'); return original.apply(this, args); };
}
for (const name of Object.keys(dns).filter((each) => /^(lookup|resolve|reverse)/.test(each))) {
  const original = dns[name];
  // Lookups of IP addresses and of localhost are not reported, because they send nothing.
  dns[name] = function (...args) { if (!net.isIP(args[0]) && args[0] !== 'localhost') report('look-up of ' + args[0]); return original.apply(this, args); };
}
syncBuiltinESMExports();
process.on('SIGUSR2', () => fetch('http://127.0.0.1:4999/').catch(() => undefined));
`;

const directory = temporaryFolder();

const database = await createDatabase();
const preload = join(directory, 'preload.mjs');
writeFileSync(preload, PRELOAD);
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const server = new ServerProcess(
  { PORT: String(port), DATABASE_URL: database.url, DATA_DIR: join(directory, 'data') },
  { nodeArguments: ['--import', pathToFileURL(preload).href] },
);
await server.ready();

const outgoing = () => new Set([...server.stderr.matchAll(/^OUTGOING (.*)$/gm)].map(([, target]) => target));

// The routes of the pages are called without a session, so this shows nothing about what they do after a sign-in.
test('the service connects to its database and to nothing else during requests of a client and requests without a session', async () => {
  // The body of the `curl` command that the start prints.
  const [, body] = await server.waitForOutput('stderr', /-d '([^']*)'/);
  const { json } = await call(url, 'POST', '/v1/activate', body);
  const heartbeat = {
    token: json.token,
    app_version: '1.0.0',
    telemetry: { os_version: 'http://198.51.100.7/x' },
  };
  expect((await call(url, 'POST', '/v1/heartbeat', heartbeat)).status).toBe(200);
  for (const { method, path } of documentedRoutes()) {
    await call(
      url,
      method,
      fillPath(path, json.activation.id as string),
      method === 'POST' ? heartbeat : undefined,
    );
  }
  const { hostname, port } = new URL(database.url);
  expect([...outgoing()]).toEqual([`${hostname}:${port}`]);
  // The recording itself works: an outgoing call is recorded.
  server.child.kill('SIGUSR2');
  await server.waitForOutput('stderr', /^OUTGOING 127\.0\.0\.1:4999$/m);
});
