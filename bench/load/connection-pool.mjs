import { performance } from 'node:perf_hooks';
import { Connection } from './connection.mjs';

/** The service closes connections that are idle for over a minute; a request must not be sent on one that it closes. */
const IDLE_MS = 30_000;

/** Keep-alive connections, opened as they are needed, and a queue of requests for the time when all are in use. */
export class ConnectionPool {
  #port;
  #maxConnections;
  #open = new Set();
  #idle = [];
  /** The waiting requests in the order of arrival; those at indexes below `#served` have a connection. */
  #waiting = [];
  #served = 0;
  #inProgress = 0;

  constructor(port, maxConnections) {
    this.#port = port;
    this.#maxConnections = maxConnections;
  }

  /** Number of requests without a response so far. */
  get inProgress() {
    return this.#inProgress;
  }

  /** @returns the response, when the request began, and the milliseconds it took, including the wait for a connection */
  async send(request) {
    const began = performance.now();
    this.#inProgress += 1;
    const connection = await this.#acquire();
    const response = await connection.send(request);
    this.#inProgress -= 1;
    this.#release(connection, response);
    return { ...response, began, ms: performance.now() - began };
  }

  end() {
    for (const connection of this.#open) connection.end();
  }

  #acquire() {
    for (let idle; (idle = this.#idle.pop());) {
      if (!idle.connection.isClosed && performance.now() - idle.since < IDLE_MS) return idle.connection;
      this.#drop(idle.connection);
    }
    if (this.#open.size < this.#maxConnections) return this.#openConnection();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #openConnection() {
    const connection = new Connection(this.#port);
    this.#open.add(connection);
    return connection;
  }

  #release(connection, { status }) {
    const isBroken = status === 0 || connection.isClosed;
    if (isBroken) this.#drop(connection);
    if (this.#served < this.#waiting.length)
      return void this.#serve(isBroken ? this.#openConnection() : connection);
    if (!isBroken) this.#idle.push({ connection, since: performance.now() });
  }

  #drop(connection) {
    connection.end();
    this.#open.delete(connection);
  }

  #serve(connection) {
    this.#waiting[this.#served++](connection);
    if (this.#served < this.#waiting.length) return;
    this.#waiting = [];
    this.#served = 0;
  }
}
