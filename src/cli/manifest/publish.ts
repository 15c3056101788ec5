import type { Command } from 'commander';
import { readDocument } from '../../keys/manifests/signed-manifest.js';
import { checkImageAddress } from './image-address.js';
import { readManifestFile } from './live-manifest.js';
import { contentRows, differences, differenceText } from './manifest-text.js';
import { checkPublicAddress } from './public-address.js';
import { withPublishing } from './publishing.js';
import { aligned, print, CommandError, printMessage } from '../terminal/output.js';

interface PublishOptions {
  readonly withdraw?: true;
  readonly dryRun?: true;
  /** False with --no-fetch. */
  readonly fetch: boolean;
  /** How many seconds the public address may take to serve the manifest. */
  readonly wait: number;
}

/**
 * `manifest publish`: checks a manifest and the download of its image, publishes it, then fetches the public address and verifies
 * what clients receive.
 * @throws CommandError also if the manifest is published and the public address serves something else
 */
export async function publish(file: string, options: PublishOptions, command: Command): Promise<void> {
  const document = await readManifestFile(file);
  const isWithdrawal = options.withdraw === true;
  await withPublishing(command, async (publishing) => {
    const { live, next } = await publishing.check(document, isWithdrawal);
    if (options.fetch) await checkImageAddress(next);
    if (options.dryRun) {
      const changes = differences(live, next);
      return print(command, { live, next, changes }, differenceText(changes));
    }
    await publishing.publish(document, isWithdrawal);
    if (isWithdrawal)
      printMessage(
        `Versions above ${next.version} are withdrawn: they are not offered any more. Installed copies stay until a higher version is published.`,
      );
    const { version, sequence, minimum_license_expiry, expires_at } = next;
    const { publicUrl, trusted } = publishing;
    const { signed } = readDocument(document);
    const url = `${publicUrl}/v1/manifest`;
    const published = { url, signed, content: next, trusted, waitSeconds: options.wait };
    const fault = await checkPublicAddress(published);
    const result = { version, sequence, minimum_license_expiry, expires_at, served: fault === null };
    print(command, result, aligned([['Live now', `version ${version}`], ...contentRows(next)]));
    if (fault !== null) throw new CommandError(`The manifest is published, but ${fault}`);
    printMessage(`${url} serves the published manifest.`);
  });
}
