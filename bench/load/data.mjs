/*
 * The data of a bench. Each activation has a license of its own. Three members of an activation have the names of the token's
 * claims: `sub` is the id of the activation, `lic` the id of the license, and `lxp` the expiry of the license.
 */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from './database.mjs';

const DAY_MS = 86_400_000;
export const PRODUCT = 'com.example.app';
/** The prefix of activation ids. A number of 12 digits follows it, so that a pgbench script can make the same ids. */
export const ACTIVATION_ID_PREFIX = '0198c000-0000-7000-8000-';
const LICENSE_ID_PREFIX = '0198c000-0000-7000-9000-';
export const licenseId = (number) => id(LICENSE_ID_PREFIX, number);
const id = (prefix, number) => `${prefix}${String(number).padStart(12, '0')}`;
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

/** Makes the ids of `count` activations. */
export const activationIds = (count) =>
  Array.from({ length: count }, (_, number) => ({
    sub: id(ACTIVATION_ID_PREFIX, number),
    lic: licenseId(number),
  }));

/** Makes the secrets and settings of a production deployment on this database, and the publisher's key. */
export async function makeDeployment(url, folder) {
  const { createKeyRing, KeyRing } = await import('../../dist/keys/tokens/key-ring.js');
  const tokens = join(folder, 'tokens');
  await createKeyRing(tokens, new Date());
  const secret = randomBytes(32);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const settings = {
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    DATABASE_URL: url,
    DATA_DIR: join(folder, 'service'),
    LICENSE_KEY_SECRET: secret.toString('base64'),
    TOKEN_KEYS_DIR: tokens,
    MANIFEST_PUBLIC_KEYS: publicKey.export({ format: 'jwk' }).x,
    PURCHASE_WEBHOOK_SECRET: randomBytes(32).toString('base64'),
    PRODUCT,
    PUBLIC_URL: 'http://localhost:3000',
  };
  return { settings, secret, ring: await KeyRing.open(tokens), publisher: privateKey };
}

/**
 * Stores the check value of the secret, as the first start on an empty database does. If the database had licenses already, the
 * service would compare the secret with their keys, and a bench makes up most of these.
 */
async function storeSecretCheck(settings) {
  const { Config } = await import('../../dist/core/config.js');
  const { withMaintenanceConnection } = await import('../../dist/database/data-source.js');
  const { readLicenseKeys } = await import('../../dist/keys/key-material.js');
  const { requireKeySettingsOfDatabase } = await import('../../dist/licenses/license-key-secret.js');
  const config = new Config(settings);
  const keys = await readLicenseKeys(config);
  await withMaintenanceConnection(settings.DATABASE_URL, (dataSource) =>
    requireKeySettingsOfDatabase(dataSource, keys, config, new Date()),
  );
}

/** Migrates the database of a bench, and fills it with `count` activations. @returns as `makeData` */
export async function prepareData({ url, folder, progress }, count) {
  const { migrate } = await import('../../dist/database/migrations.js');
  progress('data');
  await migrate(url);
  return makeData(url, folder, activationIds(count));
}

/**
 * Fills a migrated database with a manifest and with licenses, each with one activation and one session.
 * @param ids of the activations
 * @param insert writes the activations with their licenses and purchases, and may write more rows
 * @returns the settings of a service on this database, the activations for the load, and the body of the manifest
 */
export async function makeData(url, folder, ids, insert = insertActivations) {
  const { deriveLicenseKey } = await import('../../dist/keys/license-key.js');
  const { machineDigest, OFFLINE_SECONDS, signLicenseToken } =
    await import('../../dist/keys/tokens/license-token.js');
  const { settings, secret, ring, publisher } = await makeDeployment(url, folder);
  await storeSecretCheck(settings);
  const iat = Math.floor(Date.now() / 1000) - 3600;
  const staff_token = `mst_${randomBytes(32).toString('base64url')}`;
  const activations = ids.map((idsOfActivation, number) => {
    const { sub, lic } = idsOfActivation;
    const machine = randomBytes(32);
    // Every fourth license has an expiry, so that the service checks its coverage of the version too.
    const lxp = number % 4 === 0 ? iat + 365 * 86_400 : null;
    const claims = { iss: 'mooring', aud: PRODUCT, sub, lic, mch: machineDigest(machine), lxp, iat };
    return {
      ...idsOfActivation,
      lxp,
      machines_allowed: 100_000,
      // Half of the licenses come from a purchase, and staff issued the other half.
      hasPurchase: number % 2 === 0,
      token: signLicenseToken(ring.active, { ...claims, exp: iat + OFFLINE_SECONDS }),
      license_key: deriveLicenseKey(secret, 'MOOR', lic, 1),
      email: `holder${number}@example.com`,
      machine_id: machine.toString('hex'),
      cookie: randomBytes(32).toString('base64url'),
      staff_token,
    };
  });
  const manifest = await makeManifest(publisher, '1.0.0');
  await withClient(url, async (client) => {
    await insert(client, activations);
    await insertSessions(client, activations, staff_token);
    await insertManifest(client, manifest);
    await client.query('vacuum analyze');
  });
  const file = join(folder, 'activations.json');
  writeFileSync(file, JSON.stringify({ activations, webhookSecret: settings.PURCHASE_WEBHOOK_SECRET }));
  return { settings, activations, file, ring, manifest: JSON.stringify(manifest) };
}

/** Makes a signed manifest that offers a version. @param live the published manifest that it replaces; null for the first */
export async function makeManifest(publisher, version, live = null) {
  const { nextManifest } = await import('../../dist/manifest/manifest.rules.js');
  const { manifestBytes, parseSigned, signManifest } =
    await import('../../dist/keys/manifests/signed-manifest.js');
  const dmg = {
    url: `https://dl.example.com/App-${version}.dmg`,
    size: 104_857_600,
    sha256: sha256(`image ${version}`).toString('hex'),
  };
  const entry = { version, dmg, minimum_license_expiry: null };
  const now = new Date();
  const offer = { entry, also_available: [], expires: new Date(now.getTime() + 90 * DAY_MS) };
  const before = live && { content: parseSigned(live.signed), signed: live.signed };
  return signManifest(manifestBytes(nextManifest(before, offer, { product: PRODUCT, now })), [publisher]);
}

/** Inserts a manifest directly into the database, as published now. */
export async function insertManifest(client, { signed, signatures }) {
  await client.query('insert into manifest values (1, $1, $2, now())', [signed, JSON.stringify(signatures)]);
}

async function insertActivations(client, activations) {
  await insertLicenses(client, activations);
  await insertMachines(client, activations);
}

/** Inserts licenses, and a purchase with the same id for each license that has one. */
export async function insertLicenses(client, licenses) {
  const { licenseKeyHash } = await import('../../dist/keys/license-key.js');
  await client.query(
    `insert into license (id, key_hash, key_hint, email, machines_allowed, expires_at, on_expiry, created_at)
     select id, key_hash, '00', email, machines_allowed, to_timestamp(lxp), 'keep', now()
     from unnest($1::uuid[], $2::bytea[], $3::text[], $4::int[], $5::bigint[])
       as t (id, key_hash, email, machines_allowed, lxp)`,
    [
      licenses.map(({ lic }) => lic),
      licenses.map(({ license_key }) => licenseKeyHash(license_key)),
      licenses.map(({ email }) => email),
      licenses.map(({ machines_allowed }) => machines_allowed),
      licenses.map(({ lxp }) => lxp),
    ],
  );
  await client.query(
    `insert into purchase (id, transaction_id, email, state, paid, recorded_on)
     select id, 'transaction-' || id, email, 'paid', true, current_date from license where id = any($1::uuid[])`,
    [licenses.filter(({ hasPurchase }) => hasPurchase).map(({ lic }) => lic)],
  );
  await client.query('update license l set purchase_id = p.id from purchase p where p.id = l.id');
}

async function insertMachines(client, activations) {
  await client.query(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
     select id, license_id, machine_id, 'Studio Mac', '0.9.0', now()
     from unnest($1::uuid[], $2::uuid[], $3::bytea[]) as t (id, license_id, machine_id)`,
    [
      activations.map(({ sub }) => sub),
      activations.map(({ lic }) => lic),
      activations.map(({ machine_id }) => Buffer.from(machine_id, 'hex')),
    ],
  );
}

async function insertSessions(client, activations, staff_token) {
  // The sessions end late, so that no request extends its session with a write, which would be measured too.
  await client.query(
    `insert into session (id, token_hash, license_id, created_at, expires_at)
     select id, token_hash, id, now(), now() + interval '11 hours' from unnest($1::uuid[], $2::bytea[]) as t (id, token_hash)`,
    [activations.map(({ lic }) => lic), activations.map(({ cookie }) => sha256(cookie))],
  );
  const id = '0198c000-0000-7000-a000-000000000000';
  await client.query(`insert into staff values ($1, 'staff@example.com', 'support', now())`, [id]);
  const token = `insert into staff_token values ($1, $1, $2, now(), now() + interval '90 days')`;
  await client.query(token, [id, sha256(staff_token)]);
}
