import { spawnSync } from 'node:child_process';
import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { publicJwk, publicKeyFromX, thumbprint } from '../../src/keys/ed25519/ed25519.js';
import {
  parseSigned,
  trustedKeys,
  verifyManifest,
  type ManifestContent,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { temporaryFolder } from '../support/folders.js';

// Ed25519 needs -rawin: the input is the message itself, not its hash. LibreSSL, which is `openssl` on macOS, does not have this
// option. There, and where no openssl is installed, Node signs and verifies instead.
const help = spawnSync('openssl', ['pkeyutl', '-help']);
const hasOpenssl = `${help.stdout?.toString()}${help.stderr?.toString()}`.includes('-rawin');

/** The program that verifies signatures: openssl, or else WebCrypto. */
export const VERIFIER = hasOpenssl ? 'openssl' : 'WebCrypto';

/** A signature, the bytes that it is for, and the public key. */
export interface SignatureCheck {
  readonly key: KeyObject;
  readonly bytes: Buffer;
  readonly signature: Buffer;
}

/** Verifies each check of a folder, in one file each for its key, bytes and signature, and prints the names of the valid ones. */
const VERIFY_ALL = `
  for file in *.signature; do
    name=\${file%.signature}
    verdict=$(openssl pkeyutl -verify -pubin -rawin -inkey $name.pem -in $name.signed -sigfile $file 2>&1) || continue
    case $verdict in *"Verified Successfully"*) echo $name ;; esac
  done`;

/**
 * Verifies signatures with openssl, or else with WebCrypto. A shell starts openssl for each of them, because starting a process
 * from a test takes much longer. @returns for each check whether the signature is valid
 */
export async function areValidSignatures(checks: readonly SignatureCheck[]): Promise<boolean[]> {
  if (!hasOpenssl) return Promise.all(checks.map(isValidInWebCrypto));
  const dir = temporaryFolder();
  for (const [i, { key, bytes, signature }] of checks.entries()) {
    writeFileSync(join(dir, `${i}.pem`), key.export({ format: 'pem', type: 'spki' }));
    writeFileSync(join(dir, `${i}.signed`), bytes);
    writeFileSync(join(dir, `${i}.signature`), signature);
  }
  const { stdout } = spawnSync('sh', ['-c', VERIFY_ALL], { cwd: dir, encoding: 'utf8' });
  const valid = new Set(stdout.split('\n'));
  return checks.map((_, i) => valid.has(String(i)));
}

async function isValidInWebCrypto({ key, bytes, signature }: SignatureCheck): Promise<boolean> {
  const jwk = { ...publicJwk(key) };
  const imported = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', true, ['verify']);
  return crypto.subtle.verify('Ed25519', imported, new Uint8Array(signature), new Uint8Array(bytes));
}

/** Signs the bytes of a file with openssl, or else with Node, in place of an HSM. @returns the 64 bytes of the signature */
export function signWithOpenssl(keyFile: string, file: string, passphrase?: string): Buffer {
  const pem = readFileSync(keyFile, 'utf8');
  if (!hasOpenssl) return sign(null, readFileSync(file), createPrivateKey({ key: pem, passphrase }));
  const pass = passphrase === undefined ? [] : ['-passin', `pass:${passphrase}`];
  const args = ['pkeyutl', '-sign', '-rawin', '-inkey', keyFile, '-in', file, ...pass];
  const { status, stdout, stderr } = spawnSync('openssl', args);
  if (status !== 0) throw new Error(`openssl: ${stderr.toString()}`);
  return stdout;
}

/**
 * Checks that openssl accepts the signatures of the document.
 * @param xs the public key of each signature, as the `x` of its JWK, in order @returns the signed content
 */
export async function expectVerifiedByOpenssl(
  document: SignedManifest,
  ...xs: string[]
): Promise<ManifestContent> {
  const bytes = Buffer.from(document.signed, 'latin1');
  const signatures = document.signatures.map(({ signature }) => Buffer.from(signature, 'base64url'));
  expect(document.signatures.map(({ key_id }) => key_id)).toEqual(
    xs.map((x) => thumbprint(publicKeyFromX(x))),
  );
  const checks = xs.map((x, i) => ({ key: publicKeyFromX(x), bytes, signature: signatures[i]! }));
  expect(await areValidSignatures(checks)).toEqual(xs.map(() => true));
  return parseSigned(document.signed);
}

/**
 * Checks that the service refuses a change of any byte, and openssl a change of any of ten bytes.
 * @param x the public key, as the `x` of its JWK
 */
export async function expectInvalidAfterAnyChange(document: SignedManifest, x: string): Promise<void> {
  const trusted = trustedKeys([publicKeyFromX(x)]);
  const bytes = Buffer.from(document.signed, 'latin1');
  const signature = Buffer.from(document.signature, 'base64url');
  const changed = (i: number) => {
    const copy = Buffer.from(bytes);
    copy[i]! ^= 1;
    return copy;
  };
  for (let i = 0; i < bytes.length; i += 1) {
    const doc = { ...document, signed: changed(i).toString('latin1') };
    expect(() => verifyManifest(doc, trusted)).toThrow('The signature of the manifest is wrong');
  }
  const positions = Array.from({ length: 10 }, (_, i) => Math.round((i * (bytes.length - 1)) / 9));
  const key = publicKeyFromX(x);
  const verdicts = await areValidSignatures(positions.map((i) => ({ key, bytes: changed(i), signature })));
  expect(positions.filter((_, i) => verdicts[i])).toEqual([]);
}
