// The invented vendor of the pictures: its brand, its customers, its versions and its staff.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runMooring } from '../sample-service.mjs';
import { movePublication, passDays } from './pass-time.mjs';

const DAY_MS = 86_400_000;
const NEWEST_VERSION = '3.2.0';
/** Not a whole number, so that not everything happens at the same time of day. */
const DAYS_BETWEEN_ACTIVATIONS = 4.3;
const STAFF = 'grace@tidewater.example';

/** Returns the settings of the service: the brand of the vendor, and two features that the pictures show. */
export function brandSettings() {
  return {
    PRODUCT_NAME: 'Tidewater Studio',
    VENDOR_NAME: 'Tidewater Software Ltd',
    ACCENT_COLOR: '#6b3fa0',
    LOGO_FILE: join(import.meta.dirname, 'logo.png'),
    SUPPORT_CONTACT: 'help@tidewater.example',
    PRIVACY_CONTACT: 'privacy@tidewater.example',
    SHOP_URL: 'https://tidewater.example/shop',
    RENEWAL_URL: 'https://tidewater.example/renew',
    MAIL_FROM: 'Tidewater Studio <licenses@tidewater.example>',
    MAIL_NEW_ACTIVATIONS: 'true',
    SELF_RELEASES_PER_YEAR: '1',
  };
}

/** The vendor's side of a running service. */
export class SampleVendor {
  #origin;
  #environment;

  constructor({ origin, environment }) {
    this.#origin = origin;
    this.#environment = environment;
  }

  get outbox() {
    return join(this.#environment.DATA_DIR, 'outbox');
  }

  /** Runs a command of the operator. @returns its JSON */
  mooring(...args) {
    return runMooring(this.#environment, ['--as', STAFF, ...args]);
  }

  /**
   * Issues a license and activates it on machines with these labels, some days after each other.
   * @returns its id, its key and its holder
   */
  async issue(email, machinesAllowed, labels = [], version = NEWEST_VERSION) {
    const issued = this.mooring('license', 'issue', '--email', email, '--machines', String(machinesAllowed));
    const holder = { license_id: issued.license_id, license_key: issued.license_key, email };
    for (const label of labels) {
      await this.activate(holder, label, version);
      await this.passDays(DAYS_BETWEEN_ACTIVATIONS);
    }
    return holder;
  }

  /** Makes everything that has happened some days older. */
  async passDays(days) {
    await this.withDatabase((client) => passDays(client, days));
  }

  /** Activates a machine. @returns the answer, also of a refusal */
  async activate({ license_key, email }, hostname_hint, app_version = NEWEST_VERSION) {
    const machine_id = createHash('sha256').update(`${email} ${hostname_hint}`).digest('hex');
    const answer = await fetch(`${this.#origin}/v1/activate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ license_key, email, machine_id, hostname_hint, app_version }),
    });
    return answer.json();
  }

  changeLicense({ license_id }, reason, ...changes) {
    return this.mooring('license', 'set', license_id, ...changes, '--reason', reason);
  }

  /**
   * Publishes versions in addition to that of the sample data.
   * @param weeksAgo the weeks since the publication of each version; the first entry is the version of the sample data,
   * which is published already
   */
  async publishVersions(folder, weeksAgo) {
    const dmg = join(folder, 'App.dmg');
    for (const version of Object.keys(weeksAgo).slice(1)) {
      const manifest = join(folder, `${version}.json`);
      // The last 512 bytes of a disk image begin with `koly`.
      writeFileSync(dmg, `the image of ${version}${'koly'.padEnd(512)}`);
      const url = `https://dl.tidewater.example/Studio-${version}.dmg`;
      const key = join(this.#environment.DATA_DIR, 'keys/manifest-private.pem');
      const options = ['--dmg', dmg, '--version', version, '--url', url, '--key', key, '--out', manifest];
      this.mooring('manifest', 'sign', ...options);
      // No image is at the address.
      this.mooring('manifest', 'publish', '--no-fetch', manifest);
    }
    await this.withDatabase(async (client) => {
      for (const [version, weeks] of Object.entries(weeksAgo)) await movePublication(client, version, weeks);
    });
  }

  /** Adds a mail that the mail server refused, for the warning of the service. */
  async addUndeliveredMail({ license_id }) {
    const key = `license_key ${license_id}`;
    await this.withDatabase(async (client) => {
      await client.query(
        `select graphile_worker.add_job('mail_license_key', '{}', run_at := now() + interval '1 day', job_key := $1)`,
        [key],
      );
      await client.query(
        `update graphile_worker._private_jobs set attempts = 3, created_at = now() - interval '3 hours',
         last_error = 'the mail server refused the recipient (550)' where key = $1`,
        [key],
      );
    });
  }

  /** Calls `work` with a client of pg, connected as a superuser. @returns its result */
  async withDatabase(work) {
    const { default: pg } = await import('pg');
    const { findEmbeddedPostgres } = await import('../../dist/database/embedded/embedded-postgres.js');
    const { url } = await findEmbeddedPostgres(this.#environment.DATA_DIR);
    const client = new pg.Client(url);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
}

/** Returns the day that is this many days from today. */
export const dayFromToday = (days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
