import { DeadlineClient } from './deadline-client.js';

/**
 * A connection to a replica, with the time limits of `DeadlineClient`. It is destroyed if the server is not a replica: the server
 * may have been promoted to a primary by mistake, or be a restored copy that does not follow the primary.
 */
export class ReplicaClient extends DeadlineClient {
  protected override get isStandbyExpected(): boolean {
    return true;
  }
}
