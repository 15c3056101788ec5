import { performance } from 'node:perf_hooks';
import { Connection } from './connection.mjs';

/** The service closes connections that are idle for over a minute; a request must not be sent on one that it closes. */
const IDLE_MS = 30_000;

/** Kept connections that are opened as they are needed, and the requests that wait for one while all are in use. */
export class ConnectionPool {
  #port;
  #maxConnections;
  #open = new Set();
  #idle = [];
  /** The waiting requests in the order of arrival; those at indexes below `#served` have a connection. */
  #waiting = [];
  #served = 0;
  #inProgress = 0;

  constructor(port, most) {
    this.#port = port;
    this.#maxConnections = most;
  }

  /** Requests without an answer so far. */
  get underWay() {
    return this.#inProgress;
  }

  /** @returns the answer, and the milliseconds from now until it was there, a wait for a connection among them */
  async ask(request) {
    const began = performance.now();
    this.#inProgress += 1;
    const connection = await this.#take();
    const answer = await connection.ask(request);
    this.#inProgress -= 1;
    this.#giveBack(connection, answer);
    return { ...answer, began, ms: performance.now() - began };
  }

  end() {
    for (const connection of this.#open) connection.end();
  }

  #take() {
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

  #giveBack(connection, { status }) {
    const gone = status === 0 || connection.isClosed;
    if (gone) this.#drop(connection);
    if (this.#served < this.#waiting.length)
      return void this.#serve(gone ? this.#openConnection() : connection);
    if (!gone) this.#idle.push({ connection, since: performance.now() });
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
