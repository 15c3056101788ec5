import pg from 'pg';

type Connected = Parameters<pg.Pool['connect']>[0];

/**
 * A pool whose connections may be released twice. graphile-worker does so where the connection that listens for jobs breaks
 * while its LISTEN is under way and the workers end: the pool of `pg` throws then, which nothing catches and which would end
 * the process.
 */
export class SingleReleasePool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | void {
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
