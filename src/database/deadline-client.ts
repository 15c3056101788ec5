import type { Socket } from 'node:net';
import { SearchingClient, type ParameterStatus } from './searching-client.js';
import { REQUEST_TIMEOUTS_MS } from './request-timeouts.js';

/**
 * A connection to the primary that is destroyed when no byte of a response arrives for too long, or when the server is a standby.
 * The `query_timeout` of `pg` would reject the query, but keep the connection and its open transaction in the pool.
 */
export class DeadlineClient extends SearchingClient {
  readonly #socket: Socket;

  constructor(...settings: ConstructorParameters<typeof SearchingClient>) {
    super(...settings);
    this.#socket = this.connection.stream as Socket;
    this.#socket.on('timeout', () => this.close('no answer in time'));
    // PostgreSQL reports whether it is a standby (a replica), at the start of a connection and on each change.
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName !== 'in_hot_standby' || (parameterValue === 'on') === this.isStandbyExpected) return;
      this.close(this.isStandbyExpected ? 'the server is not a standby' : 'the server is a standby');
    });
    // `drain` is emitted when no query is pending.
    this.on('drain', () => this.#socket.setTimeout(0));
  }

  // False, because a license is refused only by data of the primary (docs/contract.md#no-false-stop). `ReplicaClient` overrides it.
  protected get isStandbyExpected(): boolean {
    return false;
  }

  protected get silenceMs(): number {
    return REQUEST_TIMEOUTS_MS.silence;
  }

  // The arguments are passed on unchanged. The return type `never` is compatible with all overloads of pg.
  override query(...query: unknown[]): never {
    this.#socket.setTimeout(this.silenceMs);
    return (super.query as (...query: unknown[]) => never)(...query);
  }
}
