/*
 * Arithmetic modulo the order of Ed25519's group, for secret numbers: no branch and no index depends on a value, so that the time
 * reveals none. A number is held in limbs of 21 bits, the lowest first. The products of two limbs, and the sums of some dozens of
 * them, stay below 2 ** 53, so a Float64Array holds them exactly.
 */
const LIMB_BITS = 21;
const LIMB = 2 ** LIMB_BITS;
/** The number of limbs below 2 ** 252. */
const LOW_LIMBS = 12;
/** The numbers of limbs of 32 bytes and of 64 bytes. */
const SCALAR_LIMBS = 13;
const HASH_LIMBS = 25;
/**
 * The number of limbs of a product of the two. The scalar a is below 2 ** 255 (`SignerCheck`), so the highest limb has only 11
 * bits, and a carry or a sign needs no further one.
 */
const PRODUCT_LIMBS = SCALAR_LIMBS + HASH_LIMBS - 1;
/** The limbs of d. The order is 2 ** 252 + d (RFC 8032, section 5.1). */
const D = [0x15d3ed, 0x18d2e7, 0x160498, 0x0f39ac, 0x1dea2f, 0x0a6f7c];
/** The length of a scalar in bytes. */
export const SCALAR_BYTES = 32;

/** The limbs of the sum and of k in `isSum`. To allocate them for each call would take as long as the multiplication. */
const sumLimbs = new Float64Array(PRODUCT_LIMBS);
const kLimbs = new Float64Array(HASH_LIMBS);

/** Returns the limbs of 32 bytes, the lowest byte first. */
export function scalarLimbs(bytes: Buffer): Float64Array {
  const limbs = new Float64Array(SCALAR_LIMBS);
  readLimbs(bytes, limbs);
  return limbs;
}

/**
 * Whether s is r + k * a modulo the order, as the smallest number that is not negative. It is the last step of `SignerCheck`, which
 * computes a signature again from the private key.
 * @param s 32 bytes, the lowest first @param r 64 bytes @param k 64 bytes @param a the result of `scalarLimbs`
 */
export function isSum(s: Buffer, r: Buffer, k: Buffer, a: Float64Array): boolean {
  readLimbs(r, sumLimbs);
  readLimbs(k, kLimbs);
  for (let i = 0; i < HASH_LIMBS; i += 1)
    for (let j = 0; j < SCALAR_LIMBS; j += 1) sumLimbs[i + j]! += kLimbs[i]! * a[j]!;
  reduce(sumLimbs);
  let difference = 0;
  for (let i = 0; i < SCALAR_LIMBS; i += 1) difference |= sumLimbs[i]! ^ limbAt(s, i);
  return difference === 0;
}

/** Reduces the sum of products to the smallest number that is not negative, in place. */
function reduce(x: Float64Array): void {
  carry(x, 0, PRODUCT_LIMBS - 1, 0.5);
  // The limbs above 252 bits are replaced in blocks of at most seven: the product of limb i and d, which has six limbs, changes the
  // limbs i - 12 to i - 7, so no limb changes another one of its block.
  for (const from of [32, 26, 20, 14, LOW_LIMBS]) {
    replaceHigh(x, from);
    carry(x, from - LOW_LIMBS, from, 0.5);
  }
  // The limbs are around 0, so the number is between -(2 ** 251 + 2 ** 231) and 2 ** 251 + 2 ** 231. The next carry makes limb 12
  // -1 if the number is negative, otherwise 0. To a negative number, `replaceHigh` then adds 2 ** 252 + d, the order.
  carry(x, 0, LOW_LIMBS, 0);
  replaceHigh(x, LOW_LIMBS);
  carry(x, 0, LOW_LIMBS, 0);
}

/** Replaces up to seven limbs from `from` on by what they are congruent to: 2 ** 252 is congruent to -d. */
function replaceHigh(x: Float64Array, from: number): void {
  const end = Math.min(from + 7, PRODUCT_LIMBS);
  for (let i = from; i < end; i += 1) {
    const high = x[i]!;
    x[i] = 0;
    for (let j = 0; j < D.length; j += 1) x[i - LOW_LIMBS + j]! -= high * D[j]!;
  }
}

/**
 * Carries from the limb `from` into each limb up to `last`, which then has the sign.
 * @param bias 0 leaves limbs from 0 to 2 ** 21; 0.5 leaves limbs around 0, so that a small negative number has no high limbs
 */
function carry(x: Float64Array, from: number, last: number, bias: number): void {
  for (let i = from; i < last; i += 1) {
    const high = Math.floor(x[i]! / LIMB + bias);
    x[i]! -= high * LIMB;
    x[i + 1]! += high;
  }
}

/** Reads a number, the lowest byte first, into all of the limbs. */
function readLimbs(bytes: Buffer, limbs: Float64Array): void {
  for (let i = 0; i < limbs.length; i += 1) limbs[i] = limbAt(bytes, i);
}

/** Returns one limb of a number in bytes. Bytes behind its end count as 0, because `undefined` does in a bitwise operation. */
function limbAt(bytes: Buffer, index: number): number {
  const bit = index * LIMB_BITS;
  const byte = bit >> 3;
  const word = bytes[byte]! | (bytes[byte + 1]! << 8) | (bytes[byte + 2]! << 16) | (bytes[byte + 3]! << 24);
  return (word >>> (bit & 7)) & (LIMB - 1);
}
