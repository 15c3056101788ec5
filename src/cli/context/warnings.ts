import { readExistingLicenseKeys } from '../../keys/key-material.js';
import type { ManifestService } from '../../manifest/manifest.service.js';
import { WarningsService } from '../../monitoring/warnings/warnings.service.js';
import type { CommandContext } from './command-context.js';

/** Creates the service that derives the warnings for `status` and `doctor`. Both check the token keys themselves. */
export async function createWarningsService(
  { config, clock, dataSource }: CommandContext,
  manifests: ManifestService,
): Promise<WarningsService> {
  // Only a running service knows the state of its replica, and logs.
  const [ring, replica, log] = [{ lastError: null }, { isDegraded: false }, { failed: () => undefined }];
  const keys = await readExistingLicenseKeys(config);
  return new WarningsService(dataSource, manifests, ring, replica, keys, clock, config, log);
}
