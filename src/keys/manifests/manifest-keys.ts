import type { KeyObject } from 'node:crypto';

/** The public keys that verify the signatures of published manifests, by key_id. */
export class ManifestKeys {
  constructor(readonly trusted: ReadonlyMap<string, KeyObject>) {}
}
