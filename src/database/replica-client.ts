import { DeadlineClient } from './deadline-client.js';

/**
 * The same for a replica. One that follows nobody is cut: what it holds may be the history of a database that is no
 * longer ours (promoted by mistake, a copy for tests).
 */
export class ReplicaClient extends DeadlineClient {
  protected override get wantsStandby(): boolean {
    return true;
  }
}
