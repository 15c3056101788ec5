import pg from 'pg';

type ConnectCallback = Parameters<pg.Pool['connect']>[0];

/**
 * A pool that ignores the second release of a connection that `connect(callback)` gave. If the connection on which
 * graphile-worker listens for jobs breaks during LISTEN while the workers end, graphile-worker releases it twice. The pool of `pg`
 * would throw an uncaught error, which would end the process.
 */
export class SingleReleasePool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!callback) return super.connect();
    super.connect((error, client, release) => {
      if (!client) return callback(error, client, release);
      let isReleased = false;
      callback(error, client, (reason) => {
        if (isReleased) return;
        isReleased = true;
        release(reason);
      });
    });
  }
}
