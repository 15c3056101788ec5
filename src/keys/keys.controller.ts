import type { KeyObject } from 'node:crypto';
import { Controller, Get, Header } from '@nestjs/common';
import { publicJwk } from './ed25519/ed25519.js';
import { KeyRing } from './tokens/key-ring.js';
import { ManifestKeys } from './manifests/manifest-keys.js';

/** `GET /v1/keys`: the public keys of tokens and manifests, for audits. A client trusts only the keys that it was shipped with. */
@Controller('v1/keys')
export class KeysController {
  constructor(
    private readonly ring: KeyRing,
    private readonly manifestKeys: ManifestKeys,
  ) {}

  @Get()
  @Header('cache-control', 'public, max-age=300')
  keys() {
    const tokens = this.ring
      .publishedKeys()
      .map(({ kid, publicKey }) => keyView(kid, publicKey, 'license-token'));
    const manifests = [...this.manifestKeys.trusted].map(([kid, key]) =>
      keyView(kid, key, 'update-manifest'),
    );
    return { keys: [...tokens, ...manifests] };
  }
}

function keyView(kid: string, key: KeyObject, purpose: string) {
  return { ...publicJwk(key), kid, for: purpose, alg: 'Ed25519', use: 'sig', key_ops: ['verify'] };
}
