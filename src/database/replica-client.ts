import { DeadlineClient } from './deadline-client.js';

/**
 * The same for a replica. A connection to a server that is no replica is destroyed: it may have been promoted by mistake, or be
 * a copy for tests, with other data.
 */
export class ReplicaClient extends DeadlineClient {
  protected override get wantsStandby(): boolean {
    return true;
  }
}
