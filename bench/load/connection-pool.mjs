import { performance } from 'node:perf_hooks';
import { Connection } from './connection.mjs';

/** The header of a response after which the service closes the connection. */
const CLOSES = /\r\nconnection: close/i;
/** A connection that was idle for longer is not used: the service closes it after 72 seconds, and a request on it would be lost. */
const MAX_IDLE_MS = 30_000;

/** Opens keep-alive connections when they are needed, up to a maximum, and queues requests while all are in use. */
export class ConnectionPool {
  #port;
  #maxConnections;
  #open = new Set();
  #idle = [];
  /** The requests that wait for a connection, in the order of arrival; those before `#nextWaiting` already have one. */
  #waiting = [];
  #nextWaiting = 0;
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
      if (!idle.connection.isClosed && performance.now() - idle.since < MAX_IDLE_MS) return idle.connection;
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

  #release(connection, { status, head }) {
    const isBroken = status === 0 || connection.isClosed || CLOSES.test(head);
    if (isBroken) this.#drop(connection);
    if (this.#nextWaiting < this.#waiting.length)
      return void this.#serve(isBroken ? this.#openConnection() : connection);
    if (!isBroken) this.#idle.push({ connection, since: performance.now() });
  }

  #drop(connection) {
    connection.end();
    this.#open.delete(connection);
  }

  #serve(connection) {
    this.#waiting[this.#nextWaiting++](connection);
    if (this.#nextWaiting < this.#waiting.length) return;
    this.#waiting = [];
    this.#nextWaiting = 0;
  }
}
