import { performance } from 'node:perf_hooks';
import { Connection } from './connection.mjs';
import { post, TELEMETRY } from './requests.mjs';

/** The time limit of a call of the reference client (client/src/transport.ts). */
const CALL_TIMEOUT_MS = 10_000;
const TOKEN = '"token":"';
const STOP = '"client_action":"stop"';

/**
 * Returns a count of 0 for each outcome of a call: `right` is a 200 with a token, `refused` a 503 with a `retry-after`,
 * `unanswered` no response, `wrong_stop` a response that stops the client, and `wrong` any other response.
 */
export const emptyCounts = () => ({ right: 0, refused: 0, unanswered: 0, wrong: 0, wrong_stop: 0 });

/** Returns a function that gives the next heartbeat as bytes, one for each activation in turn. */
export function heartbeats(activations, headers) {
  const requests = activations.map(({ token }) =>
    post('/v1/heartbeat', { token, app_version: '0.9.0', telemetry: TELEMETRY }, headers),
  );
  let next = 0;
  return () => requests[(next = (next + 1) % requests.length)];
}

/** Sends heartbeats, each on a new connection or on connections that are kept alive, and classifies the responses. */
export class Exchange {
  #port;
  #isKept;
  #nextRequest;
  #maxConnections;
  #idle = [];
  #open = 0;
  /** The calls in progress in the order of their start, for the time limit. */
  #calls = new Set();
  #timer = setInterval(() => this.#endLateCalls(), 100);

  /** @param connectionKind `new` or `kept` @param maxConnections the largest number of connections that are kept alive */
  constructor(port, activations, connectionKind, maxConnections = Infinity) {
    this.#port = port;
    this.#isKept = connectionKind === 'kept';
    this.#maxConnections = maxConnections;
    // The reference client closes its connection after each call.
    this.#nextRequest = heartbeats(activations, this.#isKept ? {} : { connection: 'close' });
  }

  /**
   * Opens all kept connections before the first call, as a proxy has them open after some time. Otherwise the first calls of an
   * overload would open them at once. The kernel would ignore some of these attempts, and each would count as a connection in use
   * until it is repeated after seconds.
   */
  async openAll() {
    while (this.#isKept && this.#open < this.#maxConnections) {
      const connection = new Connection(this.#port);
      this.#open += 1;
      await connection.opened();
      this.#idle.push(connection);
    }
  }

  /**
   * Sends a heartbeat. @returns `outcome` (a name of `emptyCounts`), with the `retryAfter` of a refusal, and when its connection
   * was opened
   */
  async send() {
    const connection = this.#isKept ? this.#takeConnection() : new Connection(this.#port);
    if (!connection) return { outcome: 'unanswered', reason: 'no connection is free' };
    const call = { connection, endsAt: performance.now() + CALL_TIMEOUT_MS };
    this.#calls.add(call);
    const response = await connection.send(this.#nextRequest());
    this.#calls.delete(call);
    const isClosed = response.status === 0 || /\r\nconnection: close/i.test(response.head);
    if (this.#isKept && !isClosed) this.#idle.push(connection);
    else {
      connection.end();
      this.#open -= 1;
    }
    return { ...classify(response), openedAt: connection.openedAt };
  }

  end() {
    clearInterval(this.#timer);
    for (const { connection } of this.#calls) connection.end();
    for (const connection of this.#idle) connection.end();
  }

  #takeConnection() {
    for (let connection; (connection = this.#idle.pop());) {
      if (!connection.isClosed) return connection;
      this.#open -= 1;
    }
    if (this.#open >= this.#maxConnections) return undefined;
    this.#open += 1;
    return new Connection(this.#port);
  }

  #endLateCalls() {
    const now = performance.now();
    for (const { connection, endsAt } of this.#calls) {
      if (endsAt > now) return;
      connection.end();
    }
  }
}

function classify({ status, head, body, reason }) {
  if (status === 0) return { outcome: 'unanswered', reason };
  if (status === 200 && body.includes(TOKEN)) return { outcome: 'right' };
  if (body.includes(STOP)) return { outcome: 'wrong_stop', status };
  const retryAfter = Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1]);
  return status === 503 && retryAfter > 0 ? { outcome: 'refused', retryAfter } : { outcome: 'wrong', status };
}
