import { hash, type KeyObject } from 'node:crypto';
import { isSum, SCALAR_BYTES, scalarLimbs } from './scalar.js';

/**
 * Checks signatures of a key whose private half is known, without a computation on the curve. Ed25519 signs a message M with (R,
 * s): R = r * B and s = r + k * a, where r = SHA-512(prefix, M) and k = SHA-512(R, A, M); the scalar a and the prefix are secret
 * (RFC 8032, section 5.1.6). This check computes r and k as the signer does, and compares s. Without the key no other pair can be
 * found that it accepts: for a message that was not signed r is unknown, and for another R the right s depends on a
 * (docs/decisions/0058).
 */
export class SignerCheck {
  readonly #prefix: Buffer;
  readonly #a: Float64Array;
  readonly #publicKey: Buffer;

  /** @param privateKey an Ed25519 key with its private half */
  constructor(privateKey: KeyObject) {
    const { d, x } = privateKey.export({ format: 'jwk' });
    const expanded = hash('sha512', Buffer.from(d!, 'base64url'), 'buffer');
    // The lowest three bits and the highest bit are cleared, and the second highest bit is set (RFC 8032, section 5.1.5).
    expanded[0]! &= 0b1111_1000;
    expanded[31] = (expanded[31]! & 0b0111_1111) | 0b0100_0000;
    this.#a = scalarLimbs(expanded.subarray(0, SCALAR_BYTES));
    this.#prefix = expanded.subarray(SCALAR_BYTES);
    this.#publicKey = Buffer.from(x!, 'base64url');
  }

  /** Whether these 64 bytes are the signature of this key over the UTF-8 bytes of `text`. */
  accepts(text: string, signature: Buffer): boolean {
    const message = Buffer.from(text);
    const point = signature.subarray(0, SCALAR_BYTES);
    const r = hash('sha512', Buffer.concat([this.#prefix, message]), 'buffer');
    const k = hash('sha512', Buffer.concat([point, this.#publicKey, message]), 'buffer');
    return isSum(signature.subarray(SCALAR_BYTES), r, k, this.#a);
  }
}
