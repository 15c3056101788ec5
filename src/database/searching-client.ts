import { Client } from 'pg';
import { READ_ONLY } from './access-errors.js';
import type { DatabaseHosts } from './database-hosts.js';
import { readHost } from './host-answer.js';

export interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

type ConnectCallback = (error: Error | null, client?: Client) => void;

/** PostgreSQL reports these settings at the start of a connection and on each change. */
const NOT_WRITABLE: Readonly<Record<string, string>> = {
  in_hot_standby: 'the server is a standby',
  default_transaction_read_only: 'the server is read-only',
};

/** A connection to the host of a database URL that has the wanted role. If the URL has one host, it connects to this host. */
export class SearchingClient extends Client {
  readonly #hosts: DatabaseHosts | undefined;

  constructor(...settings: ConstructorParameters<typeof Client>) {
    super(...settings);
    this.#hosts = (settings[0] as { hosts?: DatabaseHosts }).hosts;
    // `pg` emits an error of the connection twice. The pool does not listen to the second one, which would end the process.
    this.on('error', () => undefined);
    // `pg` keeps the connection open after an error of its own, such as a missing password. PostgreSQL would wait for the password
    // for a minute, and a `drop database` would wait as long.
    this.connection.on('error', () => this.connection.stream.destroy());
    // If the wait for a synchronous standby is cancelled, PostgreSQL sends a notice and reports success for a commit that no
    // standby has: a failover would lose it. The text of the notice depends on the server's language, the name of its function
    // does not.
    this.connection.on('notice', ({ routine }: { routine?: string }) => {
      if (routine === 'SyncRepWaitForLSN') this.#fail('the commit is on the primary only');
    });
    if (this.#hosts?.wanted === 'primary') this.#refuseReadOnly();
  }

  #refuseReadOnly(): void {
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      const reason = NOT_WRITABLE[parameterName];
      if (reason && parameterValue === 'on') this.close(reason);
    });
    this.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === READ_ONLY) this.close('the server is read-only');
    });
  }

  /**
   * Closes the connection at once. A running statement is rejected. The error begins like those of `pg` for a lost connection, so
   * that it counts as temporary (`isTemporaryDatabaseError`).
   */
  close(reason: string): void {
    this.connection.stream.destroy(new Error(`Connection terminated: ${reason}`));
  }

  // Unlike `close`, this rejects the running statement even if its success has already been received.
  #fail(reason: string): void {
    this.connection.emit('error', new Error(`Connection terminated: ${reason}`));
  }

  override connect(): Promise<Client>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<Client> | void {
    if (!this.#hosts) return callback ? super.connect(callback) : super.connect();
    const connected = this.#connectToHost(this.#hosts);
    if (!callback) return connected;
    connected.then((client) => callback(null, client), callback as (error: Error) => void);
  }

  async #connectToHost(hosts: DatabaseHosts): Promise<Client> {
    const { address, hostname, port } = await hosts.find();
    // The pool destroys the socket of a client that does not connect in time.
    if (this.connection.stream.destroyed) throw new Error('Connection terminated: no host in time');
    Object.assign(this, { host: hostname, port });
    this.on('error', () => hosts.handleLost(this));
    this.on('end', () => hosts.handleEnd(this));
    try {
      await super.connect();
      hosts.accept(this, address, await readHost(this));
      return this;
    } catch (error) {
      hosts.suspect();
      this.close('the connection is not used');
      throw error;
    }
  }
}
