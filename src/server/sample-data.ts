import { createPrivateKey, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, DAY_MS } from '../core/clock.js';
import { Config } from '../core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../database/data-source.js';
import { LOCKS } from '../database/locks.js';
import { execute, queryRows } from '../database/sql.js';
import { developmentManifestKeyFile } from '../keys/key-material.js';
import { manifestBytes, signManifest } from '../keys/manifests/signed-manifest.js';
import { License } from '../licenses/license.entity.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { nextManifest, MANIFEST_VALIDITY_DAYS } from '../manifest/manifest.rules.js';
import { ManifestService } from '../manifest/manifest.service.js';
import { StaffLinks } from '../staff/links/staff-links.js';
import { StaffService } from '../staff/staff.service.js';

const HOLDER_EMAIL = 'ada@example.com';
const ADMIN_EMAIL = 'admin@example.com';
const SAMPLE_AUDIT = { actor: 'npm start', reason: 'sample for development' };

/** The sample data of development. */
export interface Sample {
  readonly email: string;
  /** Null if the sample license is missing, refunded or revoked, or if its key cannot be derived. */
  readonly license_key: string | null;
  /** A sign-in link of the support page; null unless the database is the embedded one of DATA_DIR and ADMIN_EMAIL is staff. */
  readonly staff: { readonly email: string; readonly link: string } | null;
}

/** What is shown if the sample data cannot be created, such as while the database is too slow. The next start tries it again. */
export const NO_SAMPLE: Sample = { email: HOLDER_EMAIL, license_key: null, staff: null };

/**
 * Creates a license if the database has none, and before it a manifest if none is live and the development key may sign it. It
 * creates a sign-in link at each start with the embedded database. Used in development only.
 */
export async function makeSample(app: INestApplicationContext): Promise<Sample> {
  const licenses = app.get(LicensesService);
  const { manager } = app.get(DataSource);
  if (!(await manager.exists(License))) await withSampleLock(app, () => createSampleData(app));
  const license = await manager.findOne(License, { where: { email: HOLDER_EMAIL }, order: { id: 'asc' } });
  const license_key = license && (await licenses.currentKey(license.id));
  return { email: HOLDER_EMAIL, license_key, staff: await createSignInLink(app) };
}

// A link is created at each start, but only for the embedded database, because another database may have staff of its own.
async function createSignInLink(app: INestApplicationContext): Promise<Sample['staff']> {
  if (app.get(Config).databaseUrl !== undefined) return null;
  const { manager } = app.get(DataSource);
  const staff = await queryRows<{ email: string }>(manager, 'select email from staff');
  if (staff.length === 0) await app.get(StaffService).ensure(ADMIN_EMAIL, 'admin', SAMPLE_AUDIT);
  else if (!staff.some(({ email }) => email === ADMIN_EMAIL)) return null;
  const { link } = await app.get(StaffLinks).create(ADMIN_EMAIL, SAMPLE_AUDIT);
  return { email: ADMIN_EMAIL, link };
}

async function createSampleData(app: INestApplicationContext): Promise<void> {
  if (await app.get(DataSource).manager.exists(License)) return;
  await app.get(ManifestService).refresh();
  // Only the development key can sign a manifest here: the server does not have the private keys of MANIFEST_PUBLIC_KEYS.
  const hasConfiguredKeys = app.get(Config).manifestPublicKeys !== undefined;
  if (!hasConfiguredKeys && !app.get(ManifestService).live) await publishSampleManifest(app);
  // The license is last, because a start with a license creates nothing: after a failure above, the next start tries it again.
  await app.get(LicensesService).issue({ email: HOLDER_EMAIL, machines_allowed: 2 }, SAMPLE_AUDIT);
}

// The lock makes instances that start together on an empty database create the sample only once.
async function withSampleLock(app: INestApplicationContext, work: () => Promise<void>): Promise<void> {
  await withMaintenanceConnection(app.get(DatabaseUrl).value, (dataSource) =>
    dataSource.transaction(async (manager) => {
      await execute(manager, 'select pg_advisory_xact_lock($1)', [LOCKS.sampleData]);
      await work();
    }),
  );
}

async function publishSampleManifest(app: INestApplicationContext): Promise<void> {
  const config = app.get(Config);
  const now = app.get(Clock).now();
  const entry = {
    version: '1.0.0',
    dmg: {
      url: 'https://dl.example.com/App-1.0.0.dmg',
      size: 104_857_600,
      sha256: hash('sha256', 'sample image'),
    },
    minimum_license_expiry: null,
  };
  const offer = {
    entry,
    also_available: [],
    expires: new Date(now.getTime() + MANIFEST_VALIDITY_DAYS * DAY_MS),
  };
  const firstManifest = nextManifest(null, offer, { product: config.product, now });
  const key = createPrivateKey(await readFile(developmentManifestKeyFile(config)));
  const document = signManifest(manifestBytes(firstManifest), [key]);
  await app.get(ManifestService).publish(document, SAMPLE_AUDIT);
}
