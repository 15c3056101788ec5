import type { KeyObject } from 'node:crypto';
import type { Command } from 'commander';
import { Clock } from '../../core/clock.js';
import { verifyText } from '../../keys/ed25519/ed25519.js';
import {
  findDifferingUnsignedMember,
  readDocument,
  trustedKeys,
  verifyManifest,
} from '../../keys/manifests/signed-manifest.js';
import { readDocumentAt } from './live-manifest.js';
import { knownManifestKeys, publisherConfig } from './signing-keys.js';
import { contentRows } from './manifest-text.js';
import { aligned, print, CommandError, UsageError } from '../terminal/output.js';

/**
 * `manifest verify`: checks that a trusted key signed a manifest, lists the signatures that no trusted key verifies,
 * and checks the unsigned copies and the expiry. `manifest publish` checks more (docs/keys.md#publishing). A client does
 * not look at key ids and unsigned copies, but also checks the product and the sequence.
 */
export async function verify(
  file: string,
  options: { publicKey?: KeyObject[] },
  command: Command,
): Promise<void> {
  const keys = options.publicKey ?? (await knownManifestKeys(publisherConfig()));
  if (keys.length === 0) throw new UsageError('--public-key must name a key to trust.');
  const trusted = trustedKeys(keys);
  const document = await readDocumentAt(file);
  if (document === null) throw new CommandError(`Nothing is published at ${file}.`);
  const content = verifyManifest(document, trusted);
  const differingMember = findDifferingUnsignedMember(document, content);
  if (differingMember)
    throw new CommandError(`The unsigned copy of ${differingMember} differs from the signed value.`);
  if (Date.parse(content.expires_at) <= new Clock().now().getTime()) {
    throw new CommandError(`The signature holds, but the manifest expired at ${content.expires_at}.`);
  }
  const { signed, signatures } = readDocument(document);
  const signed_by: string[] = [];
  const not_verified: string[] = [];
  for (const { key_id, signature } of signatures) {
    const key = trusted.get(key_id);
    const isVerified = key !== undefined && verifyText(key, signed, signature);
    (isVerified ? signed_by : not_verified).push(key_id);
  }
  const text = aligned([
    ...signed_by.map((key_id) => ['Signed by', key_id]),
    ...not_verified.map((key_id) => ['Not verified', key_id]),
    ...contentRows(content),
  ]);
  const { product, version, sequence, issued_at, expires_at } = content;
  print(command, { signed_by, not_verified, product, version, sequence, issued_at, expires_at }, text);
}
