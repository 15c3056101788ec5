import { createHmac, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Connection } from './connection.mjs';
import { ConnectionPool } from './connection-pool.mjs';
import { post, requestsOf } from './requests.mjs';
import { ROWS } from './rows.mjs';

/** Number of keep-alive connections that the kinds share. */
const KEEP_ALIVE_CONNECTIONS = 32;

/**
 * The kinds of requests that a steady load can send: every row, and others that a service receives. Each kind is a function
 * that sends one request and returns true, or the status where it is not the expected one. `end` closes the connections.
 */
export function kindsOf(port, data) {
  const connections = new ConnectionPool(port, KEEP_ALIVE_CONNECTIONS);
  const check = (status, ...expected) => expected.includes(status) || status;
  const pooled =
    (nextRequest, ...expected) =>
    async () =>
      check((await connections.send(nextRequest())).status, ...expected);
  const rows = Object.entries(ROWS).map(([row, { status }]) => [row, pooled(requestsOf(row, data), status)]);
  const nextHeartbeat = requestsOf('telemetry', data);
  const kinds = {
    ...Object.fromEntries(rows),
    // The load may exceed the limits of code mails: the one for all addresses and, in a slow run, the one for each address.
    code: pooled(() => codeRequest(data.seats), 202, 429, 503),
    purchase: pooled(() => purchase(data.webhookSecret), 204),
    malformed: pooled(() => post('/v1/heartbeat', { token: randomUUID().repeat(9), telemetry: [{}] }), 422),
    garbage: async () => check(await sendAlone(port, Buffer.from(`\0${randomUUID()}\r\n\r\n`)), 400),
    own_connection: async () => check(await sendAlone(port, nextHeartbeat()), 200),
    aborted: () => abortRequest(port, nextHeartbeat()),
  };
  return { kinds, end: () => connections.end() };
}

let codeRequests = 0;

/** Alternates between a made-up address and the address of a license. */
function codeRequest(seats) {
  codeRequests += 1;
  const { email } =
    codeRequests % 2 ? { email: `${randomUUID()}@example.com` } : seats[codeRequests % seats.length];
  return post('/portal/api/session/code', { email });
}

function purchase(secret) {
  const body = { transaction_id: randomUUID(), email: `${randomUUID()}@example.com`, status: 'paid' };
  const [id, at] = [randomUUID(), Math.floor(Date.now() / 1000)];
  const signature = createHmac('sha256', Buffer.from(secret, 'base64'))
    .update(`${id}.${at}.${JSON.stringify(body)}`)
    .digest('base64');
  const headers = `webhook-id: ${id}\r\nwebhook-timestamp: ${at}\r\nwebhook-signature: v1,${signature}\r\n`;
  return post('/v1/purchases', body, headers);
}

/** Sends one request on a connection of its own. */
async function sendAlone(port, request) {
  const connection = new Connection(port);
  const { status } = await connection.send(request);
  connection.end();
  return status;
}

/** Resets the connection before the request is complete. */
function abortRequest(port, request) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined).once('close', () => resolve(true));
    socket.write(request.subarray(0, request.length - 20), () => socket.resetAndDestroy());
  });
}
