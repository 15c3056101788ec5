import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { Connection } from './connection.mjs';
import { ConnectionPool } from './connection-pool.mjs';
import { post, purchaseReport, requestsOf } from './requests.mjs';
import { REQUEST_KINDS } from './request-kinds.mjs';

/** Number of keep-alive connections that the kinds share. */
const KEEP_ALIVE_CONNECTIONS = 32;

/**
 * Creates the functions that send the requests of a steady load, by kind: the kinds of `REQUEST_KINDS`, and others that a service
 * receives. Each function sends one request and returns null if the status is the expected one, and otherwise the status.
 * `end` closes the connections.
 */
export function createSenders(port, data) {
  const connections = new ConnectionPool(port, KEEP_ALIVE_CONNECTIONS);
  const wrongStatus = (status, expected) => (status === expected ? null : status);
  const sendPooled = (nextRequest, expected) => async () =>
    wrongStatus((await connections.send(nextRequest())).status, expected);
  const measuredSenders = Object.entries(REQUEST_KINDS).map(([name, { status }]) => [
    name,
    sendPooled(requestsOf(name, data), status),
  ]);
  const nextHeartbeat = requestsOf('telemetry', data);
  const senders = {
    ...Object.fromEntries(measuredSenders),
    // Above the limit of one e-mail address the response is 429, above the limit of all addresses together 503. The bench
    // code-flood exceeds the second limit.
    code: sendPooled(() => codeRequest(data.activations), 202),
    purchase: sendPooled(() => newPurchase(data.webhookSecret), 204),
    invalid_members: sendPooled(
      () => post('/v1/heartbeat', { token: randomUUID().repeat(9), telemetry: [{}] }),
      422,
    ),
    malformed_http: async () =>
      wrongStatus(await sendAlone(port, Buffer.from(`\0${randomUUID()}\r\n\r\n`)), 400),
    own_connection: async () => wrongStatus(await sendAlone(port, nextHeartbeat()), 200),
    aborted: () => abortRequest(port, nextHeartbeat()),
  };
  return { senders, end: () => connections.end() };
}

let codeRequests = 0;

/** Makes a request for a sign-in code, alternately for a made-up address and for the address of a license. */
function codeRequest(activations) {
  codeRequests += 1;
  const { email } =
    codeRequests % 2
      ? { email: `${randomUUID()}@example.com` }
      : activations[(codeRequests / 2) % activations.length];
  return post('/portal/api/session/code', { email });
}

/** Makes the report of a new purchase. */
const newPurchase = (secret) =>
  purchaseReport(secret, {
    transaction_id: randomUUID(),
    email: `${randomUUID()}@example.com`,
    status: 'paid',
  });

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
    socket.on('error', () => undefined).once('close', () => resolve(null));
    socket.write(request.subarray(0, request.length - 20), () => socket.resetAndDestroy());
  });
}
