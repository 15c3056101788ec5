import type { KeyObject } from 'node:crypto';

/** The public keys that a published manifest may be signed with, by key_id. */
export class ManifestKeys {
  constructor(readonly trusted: ReadonlyMap<string, KeyObject>) {}
}
