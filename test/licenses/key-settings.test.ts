import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { Config } from '../../src/core/config.js';
import { withMaintenanceConnection } from '../../src/database/data-source.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { requireKeySettingsOfDatabase } from '../../src/licenses/license-key-secret.js';
import { Service } from '../support/harness.js';

const makeSecret = () => randomBytes(32).toString('base64');
const own = { LICENSE_KEY_SECRET: makeSecret() };
const other = { LICENSE_KEY_SECRET: makeSecret() };
const otherPrefix = { ...own, LICENSE_KEY_PREFIX: 'DARK' };
const NOT_THE_SECRET =
  /^LICENSE_KEY_SECRET is not the secret with which this database was made: use that one, or read docs\/operations\/secrets-and-files\.md if it is lost\.$/;
const NOT_THE_PREFIX =
  /^LICENSE_KEY_PREFIX is DARK, but the license keys of this database begin with MOOR: set LICENSE_KEY_PREFIX=MOOR \(docs/;

const service = await Service.start({ environment: own });
const storedValues = () => service.sql('select value from license_key_secret_check');
const storedPrefixes = async () =>
  (await service.sql('select prefix from license_key_secret_check')).map(({ prefix }) => String(prefix));

/** Checks the settings as a command does, or a start. */
const check = (settings: typeof own & { LICENSE_KEY_PREFIX?: string }, isStart = false) =>
  withMaintenanceConnection(service.databaseUrl, (dataSource) => {
    const config = new Config(settings);
    const keys = new LicenseKeys(config.licenseKeySecret!, config.licenseKeyPrefix);
    return requireKeySettingsOfDatabase(dataSource, keys, config, new Date(), { isStart });
  });

beforeEach(async () => {
  await service.sql('delete from license_key_secret_check');
  await service.sql('delete from license');
});

test('of concurrent first starts with two secrets, only the starts with one of the secrets succeed, and no other secret is accepted afterwards', async () => {
  const secrets = [own, other, own, other, own, other];
  const results = await Promise.allSettled(secrets.map((settings) => check(settings)));
  const accepted = secrets.filter((_secret, at) => results[at]!.status === 'fulfilled');
  expect([3, new Set(accepted).size]).toEqual([accepted.length, 1]);
  expect(await storedValues()).toHaveLength(1);
  const [accepts, refuses] = accepted[0] === own ? [own, other] : [other, own];
  await check(accepts);
  await expect(check(refuses)).rejects.toThrow(NOT_THE_SECRET);
});

test('before the first license, a start may change the prefix, and a command may not', async () => {
  await check(own);
  await expect(check(otherPrefix)).rejects.toThrow(NOT_THE_PREFIX);
  await check(otherPrefix, true);
  expect(await storedPrefixes()).toEqual(['DARK']);
  await check(own, true);
  expect(await storedPrefixes()).toEqual(['MOOR']);
  await service.issue();
  await expect(check(otherPrefix, true)).rejects.toThrow(NOT_THE_PREFIX);
  expect(await storedPrefixes()).toEqual(['MOOR']);
});

test('a database of an earlier version, without a prefix, is accepted with its secret; a start stores the prefix that a key proves', async () => {
  const { license_id } = await service.issue();
  await check(own);
  await service.sql('update license_key_secret_check set prefix = null');
  await check(own);
  expect(await storedPrefixes()).toEqual(['null']);
  await check(otherPrefix, true);
  expect(await storedPrefixes()).toEqual(['null']);
  await check(own, true);
  expect(await storedPrefixes()).toEqual(['MOOR']);
  // No key proves a prefix if all licenses were imported with their keys.
  await service.sql('update license_key_secret_check set prefix = null');
  await service.sql('update license set key_hash = sha256(key_hash) where id = $1', [license_id]);
  await check(own, true);
  expect(await storedPrefixes()).toEqual(['null']);
  await expect(check(other, true)).rejects.toThrow(NOT_THE_SECRET);
});

test.each([true, false])(
  'a prefix with which fewer than half of the licenses were issued is not stored (with a stored check value: %j)',
  async (hasSecret) => {
    const licenses = [await service.issue(), await service.issue(), await service.issue()];
    if (hasSecret) await check(own);
    await service.sql('update license_key_secret_check set prefix = null');
    // As if LICENSE_KEY_PREFIX had been DARK for a while.
    const { license_id } = licenses[2]!;
    const wrong = new LicenseKeys(new Config(own).licenseKeySecret!, 'DARK').derive(license_id, 1);
    await service.sql('update license set key_hash = $2 where id = $1', [license_id, wrong.key_hash]);
    await check(otherPrefix, true);
    expect(await storedPrefixes()).toEqual(['null']);
    await check(own, true);
    expect(await storedPrefixes()).toEqual(['MOOR']);
    await expect(check(otherPrefix, true)).rejects.toThrow(NOT_THE_PREFIX);
  },
);

test('a database without a check value accepts the secret from which its licenses were derived, also if the newest was imported', async () => {
  await service.issue();
  const { license_id } = await service.issue();
  // The key hash of an imported license is not that of a key which this service derives.
  await service.sql('update license set key_hash = sha256(key_hash) where id = $1', [license_id]);
  for (const settings of [other, otherPrefix])
    await expect(check(settings, true)).rejects.toThrow(
      /^LICENSE_KEY_SECRET is not the secret with which .*, or LICENSE_KEY_PREFIX is not (MOOR|DARK) there: use those/,
    );
  expect(await storedValues()).toEqual([]);
  await check(own);
  expect(await storedValues()).toHaveLength(1);
});
