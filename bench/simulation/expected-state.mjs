import { createHash } from 'node:crypto';

/** The state of an activation. While a release is requested and not confirmed, the activation may be active or released. */
export const ACTIVATION = { none: 0, active: 1, beingReleased: 2, released: 3 };
/** The state of a purchase. While a refund is being reported, it may be paid or refunded. */
export const PURCHASE = { paid: 0, beingRefunded: 1, refunded: 2 };

/** The percentage of licenses that allow three machines and have three clients; the other licenses have one of each. */
const THREE_MACHINES_PERCENT = 8;
const THREE_MACHINES = 3;

/**
 * The expected state of every client and license. Responses are compared with it during the simulation, and the database
 * after it. Clients and licenses are numbered from 0; the arrays are indexed by these numbers.
 */
export class ExpectedState {
  /** The license of each client. */
  license;
  /** The machine limit of each license. */
  machineLimits = [];
  /** The state of the purchase of each license. */
  purchase;
  /** The state of the activation of each client. */
  activation;
  /** Whether an activation request of the client got a 503 or no response, so that its result is unknown. */
  unconfirmed;
  /** The id of the current activation of each client, or null. */
  activationId;
  /** The client of each acknowledged activation that was released and replaced by another one, by the id of the activation. */
  formerActivations = new Map();
  /** The number of telemetry rows that a response reported as stored, and of rows that may be stored or not. */
  telemetry = { stored: 0, unconfirmed: 0 };
  /** The lowest and the highest manifest sequence that may be published now. */
  lowestSequence = 1;
  highestSequence = 1;
  /** The real time since which the service and the database are available; Infinity while they are not. */
  availableSince = { service: 0, database: 0 };

  constructor(clients, random) {
    this.license = new Int32Array(clients);
    for (let client = 0, limit; client < clients; client += limit) {
      limit = random.below(100) < THREE_MACHINES_PERCENT ? Math.min(THREE_MACHINES, clients - client) : 1;
      this.license.fill(this.machineLimits.length, client, client + limit);
      this.machineLimits.push(limit);
    }
    this.purchase = new Uint8Array(this.machineLimits.length);
    this.activation = new Uint8Array(clients);
    this.unconfirmed = new Uint8Array(clients);
    this.activationId = Array.from({ length: clients }, () => null);
  }

  get clients() {
    return this.activationId.length;
  }

  machineId(client) {
    return createHash('sha256').update(`machine ${client}`).digest('hex');
  }

  /** Records an acknowledged activation. Another activation that the client had before must have been released. */
  recordActivation(client, id) {
    if (this.activationId[client] !== null && this.activationId[client] !== id)
      this.formerActivations.set(this.activationId[client], client);
    this.activationId[client] = id;
    this.activation[client] = ACTIVATION.active;
    this.unconfirmed[client] = 0;
  }

  /** Whether the service or the database was unavailable at any time since a moment of real time. */
  wasUnavailable(part, since) {
    return this.availableSince[part] > since;
  }
}
