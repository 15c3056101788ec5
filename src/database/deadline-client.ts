import type { Socket } from 'node:net';
import { Client } from 'pg';
import { REQUEST_TIMEOUTS_MS } from './request-timeouts.js';

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/**
 * A connection to the primary that is cut when it owes an answer for too long. `pg`'s own `query_timeout` rejects the query and keeps
 * the connection, which would go back into the pool with a transaction half begun; a cut one cannot.
 */
export class DeadlineClient extends Client {
  readonly #socket: Socket;

  constructor(...settings: ConstructorParameters<typeof Client>) {
    super(...settings);
    this.#socket = this.connection.stream as Socket;
    this.#socket.on('timeout', () => this.#cut('no answer in time'));
    // PostgreSQL says by itself, at the start and on a change, whether it only follows another.
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName !== 'in_hot_standby' || (parameterValue === 'on') === this.wantsStandby) return;
      this.#cut(this.wantsStandby ? 'no standby' : 'a standby');
    });
    // A cut is told twice, and the second time the pool no longer listens: it would end the process.
    this.on('error', () => undefined);
    // `drain` comes when nothing is owed any more.
    this.on('drain', () => this.#socket.setTimeout(0));
  }

  // A refusal is given from the primary alone (docs/contract.md#no-false-stop).
  protected get wantsStandby(): boolean {
    return false;
  }

  #cut(reason: string): void {
    this.#socket.destroy(new Error(`Connection terminated: ${reason}`));
  }

  // One signature for all of pg's overloads: the arguments pass through untouched.
  override query(...query: unknown[]): never {
    this.#socket.setTimeout(REQUEST_TIMEOUTS_MS.silence);
    return (super.query as (...query: unknown[]) => never)(...query);
  }
}
