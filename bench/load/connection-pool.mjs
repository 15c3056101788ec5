import { performance } from 'node:perf_hooks';
import { Connection } from './connection.mjs';

/** The service closes what is idle for longer than a minute, and a request must not meet that. */
const IDLE_MS = 30_000;

/** Kept connections that are opened as they are needed, and the requests that wait for one while all are in use. */
export class ConnectionPool {
  #port;
  #most;
  #open = new Set();
  #idle = [];
  /** In the order in which they came; those before `#served` have one. */
  #waiting = [];
  #served = 0;
  #asked = 0;

  constructor(port, most) {
    this.#port = port;
    this.#most = most;
  }

  /** Requests without an answer so far. */
  get underWay() {
    return this.#asked;
  }

  /** @returns the answer, and the milliseconds from now until it was there, a wait for a connection among them */
  async ask(request) {
    const began = performance.now();
    this.#asked += 1;
    const line = await this.#take();
    const answer = await line.ask(request);
    this.#asked -= 1;
    this.#giveBack(line, answer);
    return { ...answer, began, ms: performance.now() - began };
  }

  end() {
    for (const line of this.#open) line.end();
  }

  #take() {
    for (let idle; (idle = this.#idle.pop());) {
      if (!idle.line.isClosed && performance.now() - idle.since < IDLE_MS) return idle.line;
      this.#drop(idle.line);
    }
    if (this.#open.size < this.#most) return this.#opened();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #opened() {
    const line = new Connection(this.#port);
    this.#open.add(line);
    return line;
  }

  #giveBack(line, { status }) {
    const gone = status === 0 || line.isClosed;
    if (gone) this.#drop(line);
    if (this.#served < this.#waiting.length) return void this.#serve(gone ? this.#opened() : line);
    if (!gone) this.#idle.push({ line, since: performance.now() });
  }

  #drop(line) {
    line.end();
    this.#open.delete(line);
  }

  #serve(line) {
    this.#waiting[this.#served++](line);
    if (this.#served < this.#waiting.length) return;
    this.#waiting = [];
    this.#served = 0;
  }
}
