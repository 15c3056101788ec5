import { createHmac, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Connection } from './connection.mjs';
import { ConnectionPool } from './connection-pool.mjs';
import { post, requestsOf } from './requests.mjs';
import { ROWS } from './rows.mjs';

/** Kept connections that all kinds share. */
const KEPT = 32;

/**
 * What a steady load can ask for: every row, and what else meets a service. Each answers true, or the status that was not
 * the right one. And how to end the connections that are kept.
 */
export function kindsOf(port, data) {
  const connections = new ConnectionPool(port, KEPT);
  const held = (status, ...right) => right.includes(status) || status;
  const kept =
    (nextRequest, ...right) =>
    async () =>
      held((await connections.ask(nextRequest())).status, ...right);
  const rows = Object.entries(ROWS).map(([row, { status }]) => [row, kept(requestsOf(row, data), status)]);
  const beat = requestsOf('telemetry', data);
  const kinds = {
    ...Object.fromEntries(rows),
    // More than the limits of code mails allow: that of all, and in a slow run that of an address.
    code: kept(() => code(data.seats), 202, 429, 503),
    purchase: kept(() => purchase(data.webhookSecret), 204),
    malformed: kept(() => post('/v1/heartbeat', { token: randomUUID().repeat(9), telemetry: [{}] }), 422),
    garbage: async () => held(await alone(port, Buffer.from(`\0${randomUUID()}\r\n\r\n`)), 400),
    passing: async () => held(await alone(port, beat()), 200),
    broken: () => broken(port, beat()),
  };
  return { kinds, end: () => connections.end() };
}

let codesAsked = 0;

/** In turn for a made-up address and for one that a license has. */
function code(seats) {
  codesAsked += 1;
  const { email } =
    codesAsked % 2 ? { email: `${randomUUID()}@example.com` } : seats[codesAsked % seats.length];
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

/** One request on a connection that comes and goes with it. */
async function alone(port, request) {
  const line = new Connection(port);
  const { status } = await line.ask(request);
  line.end();
  return status;
}

/** A client that breaks off in the middle of what it has to say. */
function broken(port, request) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined).once('close', () => resolve(true));
    socket.write(request.subarray(0, request.length - 20), () => socket.resetAndDestroy());
  });
}
