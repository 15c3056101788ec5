import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readPidFile } from '../../dist/database/embedded/pid-file.js';
import { endPostmaster } from '../../dist/database/embedded/postgres-process.js';
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';
import { migrate } from '../../dist/database/migrations.js';
import { deriveLicenseKey } from '../../dist/keys/license-key.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ScriptError, SERVICE_FLAGS } from '../../scripts/prepare.mjs';
import { insertLicenses, licenseId, makeManifest, makeDeployment, insertManifest } from '../load/data.mjs';
import { withClient } from '../load/database.mjs';
import { nextMessage } from '../load/processes.mjs';
import { Vendor } from './vendor.mjs';
import { VERSIONS } from './fleet.mjs';

const SERVICE = fileURLToPath(new URL('service.mjs', import.meta.url));

/** PostgreSQL and the service, each in its own process, which can be killed and started again with the same data and port. */
export class Environment {
  settings;
  publisher;
  /** The published manifest. */
  liveManifest;
  #dataFolder;
  #processes;
  #server;
  #launching;
  #ended = false;
  #service;

  /** @param dataFolder of PostgreSQL @param processes starts and ends the service; PostgreSQL is ended by `end` */
  constructor(dataFolder, processes) {
    this.#dataFolder = dataFolder;
    this.#processes = processes;
  }

  /**
   * Starts PostgreSQL with licenses that were never activated.
   * @param deploymentFolder receives the token keys and the data of the service
   * @returns the licenses, with their keys and addresses
   */
  async startDatabaseWithLicenses(machineLimits, deploymentFolder) {
    await this.#launch();
    const { url } = this.#server;
    await migrate(url);
    const { settings, secret, publisher } = await makeDeployment(url, deploymentFolder);
    const port = String(await freePort());
    this.settings = { ...settings, PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` };
    this.publisher = publisher;
    this.liveManifest = await makeManifest(publisher, VERSIONS[0]);
    const licenses = machineLimits.map((machines_allowed, number) => {
      const lic = licenseId(number);
      const license_key = deriveLicenseKey(secret, 'MOOR', lic, 1);
      return {
        lic,
        license_key,
        email: `holder${number}@example.com`,
        machines_allowed,
        lxp: null,
        hasPurchase: true,
      };
    });
    await this.withDatabase(async (client) => {
      await insertLicenses(client, licenses);
      await insertManifest(client, this.liveManifest);
      await Vendor.insertStaff(client);
      await client.query('vacuum analyze');
    });
    return licenses;
  }

  withDatabase(work) {
    return withClient(this.#server.url, work);
  }

  get port() {
    return Number(this.settings.PORT);
  }

  /** Starts the service and waits until it listens. @param at the simulated time, in milliseconds */
  async startService(at) {
    this.#service = await this.#processes.startProgram(
      'service',
      [...SERVICE_FLAGS, SERVICE, String(at)],
      this.settings,
    );
  }

  /** Sets the service's clock. */
  setTime(at) {
    // An error of a killed service is ignored here: the requests of clients detect it.
    this.#service?.child.send({ at }, () => {});
  }

  /**
   * Sets the service's clock to a time after the last midnight, then starts a retention run (if one is in progress, after it), and
   * waits for its end.
   */
  async runLastRetention(at) {
    const { child } = this.#service;
    const done = nextMessage(child, 'service');
    child.send({ at, isLast: true });
    await done;
  }

  /** Ends the service as a crash would, in the middle of its work. */
  async killService() {
    const { child } = this.#service;
    // `setTime` no longer sends to this process.
    this.#service = undefined;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Ends PostgreSQL as a crash would, in the middle of its work. */
  async killDatabase() {
    const { pid } = readPidFile(this.#cluster);
    await endPostmaster(pid, this.#cluster, 'SIGQUIT', 'SIGKILL');
  }

  async startDatabase() {
    const port = Number(new URL(this.#server.url).port);
    // The server was killed. `stop` releases the lock of its folder, which the new server takes.
    await this.#server.stop();
    await this.#launch({ port });
  }

  async end() {
    this.#ended = true;
    await this.#processes.end();
    // On an interrupt during a start, the server that is starting must end as well.
    await this.#launching?.catch(() => {});
    await this.#server?.stop();
  }

  async #launch(options) {
    if (this.#ended) throw new ScriptError('Interrupted.');
    this.#launching = startEmbeddedPostgres(this.#dataFolder, options);
    this.#server = await this.#launching;
  }

  get #cluster() {
    return `${this.#dataFolder}/postgres`;
  }
}
