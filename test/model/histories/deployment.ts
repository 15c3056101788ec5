import { randomBytes } from 'node:crypto';
import { LicenseKeys } from '../../../src/keys/license-keys.js';
import { DEFAULT_MACHINES, SELF_RELEASES_PER_YEAR } from '../license-model.js';
import { Service } from '../../support/harness.js';
import { ORIGIN } from '../../support/http/cookie-client.js';
import { PURCHASE_SETTINGS } from '../../support/http/webhook.js';

/** An instance of the service as the clients see it. */
export interface Instance {
  readonly url: string;
  /** Whether the instance reads the licenses of heartbeats from a replica. */
  readonly hasReplica: boolean;
  /** False while the instance does not run; clients then use another one. */
  readonly isUp: boolean;
  /** The lowest and the highest time of the instance's wall clock between two times of `performance.now()`. */
  clockBetween(from: number, to: number): readonly [number, number];
}

/** Instances of the service on one database. */
export interface Deployment {
  readonly instances: readonly Instance[];
  readonly keys: LicenseKeys;
  /** The right time: the wall clock of an instance whose clock no fault has set. */
  now(): number;
  sql(text: string, values: unknown[]): Promise<unknown>;
}

const secret = randomBytes(32);
export const licenseKeys = new LicenseKeys(secret, 'MOOR');

/** The settings of each instance. */
export const SETTINGS: Record<string, string> = {
  ...PURCHASE_SETTINGS,
  LICENSE_KEY_SECRET: secret.toString('base64'),
  LICENSE_KEY_PREFIX: 'MOOR',
  PUBLIC_URL: ORIGIN,
  // Only errors are logged, because the log of requests is not needed.
  LOG_LEVEL: 'error',
  DEFAULT_MACHINES_PER_LICENSE: String(DEFAULT_MACHINES),
  SELF_RELEASES_PER_YEAR: String(SELF_RELEASES_PER_YEAR),
};

/** Two instances in this process that share a stopped clock. */
export class LocalDeployment implements Deployment {
  readonly keys = licenseKeys;
  readonly instances: readonly Instance[];

  private constructor(readonly services: readonly Service[]) {
    this.instances = services.map(({ url }) => ({
      url,
      hasReplica: false,
      isUp: true,
      clockBetween: () => [this.now(), this.now()] as const,
    }));
  }

  static async start(): Promise<LocalDeployment> {
    const one = await Service.start({ environment: SETTINGS });
    try {
      return new LocalDeployment([
        one,
        await Service.beside(one, { environment: SETTINGS, clock: one.clock }),
      ]);
    } catch (error) {
      await one.close();
      throw error;
    }
  }

  now(): number {
    return this.services[0]!.clock.now().getTime();
  }

  sql(text: string, values: unknown[]): Promise<unknown> {
    return this.services[0]!.sql(text, values);
  }

  async close(): Promise<void> {
    for (const service of this.services.toReversed()) await service.close();
  }
}
