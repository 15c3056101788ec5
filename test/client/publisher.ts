import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

export interface Signer {
  /** The public key, as the member `x` of a JWK. */
  x: string;
  key_id: string;
  privateKey: KeyObject;
}

/** Makes a manifest key, as `mooring manifest keygen` does. */
export function makeKey(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const x = publicKey.export({ format: 'jwk' }).x!;
  const thumbprint = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`);
  return { x, key_id: thumbprint.digest('base64url'), privateKey };
}

/** The disk image of a version, as a manifest describes it. */
export const image = (version: string) => ({
  url: `https://dl.example.com/App-${version}.dmg`,
  size: 187654321,
  sha256: '5a'.repeat(32),
});

/** The signed content of a manifest. */
export const CONTENT = {
  _type: 'update-manifest/v1',
  product: 'com.example.app',
  sequence: 42,
  issued_at: '2026-11-01T09:00:00Z',
  expires_at: '2027-02-01T09:00:00Z',
  version: '3.2.0',
  dmg: image('3.2.0'),
  minimum_license_expiry: null as string | null,
  also_available: [] as object[],
  previous: null,
};

/** Makes a manifest with these members of its content changed, signed by each of `signers`. */
export function manifest(changes: Partial<Record<keyof typeof CONTENT, unknown>>, signers: Signer[]) {
  const content = { ...CONTENT, ...changes };
  const signed = JSON.stringify(content);
  const signatures = signers.map(({ key_id, privateKey }) => ({
    key_id,
    signature: sign(null, Buffer.from(signed), privateKey).toString('base64url'),
  }));
  const outer = {
    version: content.version,
    dmg_sha256: image('x').sha256,
    minimum_license_expiry: content.minimum_license_expiry,
  };
  return { ...outer, ...signatures[0], signed, signatures };
}
