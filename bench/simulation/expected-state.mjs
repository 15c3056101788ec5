import { createHash } from 'node:crypto';

/** What became of a binding, as far as the simulation knows; between a request and its answer both sides may be true. */
export const BINDING = { none: 0, active: 1, beingReleased: 2, released: 3 };
export const SALE = { paid: 0, beingRefunded: 1, refunded: 2 };

/** Of a hundred licenses, so many allow three machines, and have them. */
const FAMILIES = 8;
const FAMILY = 3;

/** What is true of every client and license: answers are held against it while the simulation runs, the database after. */
export class ExpectedState {
  /** The license of each client, and of each license its machines and its sale. */
  license;
  seats = [];
  sale;
  binding;
  /** Activations of each client to which no answer came. */
  unsure;
  /** The current activation of each client, and whose an acknowledged one was that has ended. */
  id;
  former = new Map();
  /** Rows of telemetry that were acknowledged, and those of which that was not to be learnt. */
  telemetry = { stored: 0, unsure: 0 };
  /** The lowest and the highest sequence that may be live. */
  sequences = [1, 1];
  /** By the machine's clock: since when a part of the service is available again; Infinity while it is not. */
  back = { service: 0, database: 0 };

  constructor(clients, random) {
    this.license = new Int32Array(clients);
    for (let client = 0, seats; client < clients; client += seats) {
      seats = random.below(100) < FAMILIES ? Math.min(FAMILY, clients - client) : 1;
      this.license.fill(this.seats.push(seats) - 1, client, client + seats);
    }
    this.sale = new Uint8Array(this.seats.length);
    this.binding = new Uint8Array(clients);
    this.unsure = new Uint8Array(clients);
    this.id = Array.from({ length: clients }, () => null);
  }

  get clients() {
    return this.id.length;
  }

  machineId(client) {
    return createHash('sha256').update(`machine ${client}`).digest('hex');
  }

  activated(client, id) {
    if (this.id[client] !== null && this.id[client] !== id) this.former.set(this.id[client], client);
    this.id[client] = id;
    this.binding[client] = BINDING.active;
    this.unsure[client] = 0;
  }

  /** Whether a part was unavailable at any time since then, by the machine's clock. */
  wasUnavailable(part, since) {
    return this.back[part] > since;
  }
}
