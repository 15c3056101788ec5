import type { Socket } from 'node:net';
import { Client } from 'pg';

/** How long a connection may owe an answer: with the wait for a connection, within the 2 seconds of a 503. */
const DEADLINE_MS = 1_000;

/**
 * A connection that is cut when it owes an answer for too long. `pg`'s own `query_timeout` rejects the query and keeps
 * the connection, which would go back into the pool with a transaction half begun; a cut one cannot.
 */
export class DeadlineClient extends Client {
  readonly #socket: Socket;

  constructor(...settings: ConstructorParameters<typeof Client>) {
    super(...settings);
    this.#socket = this.connection.stream as Socket;
    this.#socket.on('timeout', () =>
      this.#socket.destroy(new Error('Connection terminated: no answer in time')),
    );
    // `drain` comes when nothing is owed any more.
    this.on('drain', () => this.#socket.setTimeout(0));
  }

  // One signature for all of pg's overloads: the arguments pass through untouched.
  override query(...query: unknown[]): never {
    this.#socket.setTimeout(DEADLINE_MS);
    return (super.query as (...query: unknown[]) => never)(...query);
  }
}
