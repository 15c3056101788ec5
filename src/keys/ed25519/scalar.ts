/*
 * Arithmetic modulo the order of Ed25519's group, for secret numbers: no branch and no index depends on a value, so that the time
 * reveals none. A number is held in limbs of 21 bits, the lowest first. The products of two limbs, and the sums of some dozens of
 * them, stay below 2 ** 53, so a Float64Array holds them exactly.
 */
const LIMB_BITS = 21;
const LIMB = 2 ** LIMB_BITS;
/** The limbs of a number of 252 bits. */
const LOW_LIMBS = 12;
/** A number of 512 bits has 25 limbs, and so has the product of two reduced numbers. One more takes the sign. */
const LIMBS = 26;
/** The limbs of d. The order is 2 ** 252 + d (RFC 8032, section 5.1). */
const D = [0x15d3ed, 0x18d2e7, 0x160498, 0x0f39ac, 0x1dea2f, 0x0a6f7c];
/** The length of a reduced number in bytes. */
export const SCALAR_BYTES = 32;

/**
 * Reduces a number modulo the order, in place.
 * @param x the result of `limbsOf` or `addProduct` @returns x, the smallest non-negative number that is congruent to it
 */
export function reduce(x: Float64Array): Float64Array {
  carry(x, LIMBS - 1, 0.5);
  // The limbs above 252 bits are replaced in blocks of six, because d has six limbs: a block does not change itself.
  for (const from of [20, 14, LOW_LIMBS]) {
    replaceHigh(x, from);
    carry(x, LIMBS - 1, 0.5);
  }
  // The number is between -2 ** 253 and 2 ** 253 now. This brings it between -(2 ** 128) and 2 ** 252 + 2 ** 128, then between -d
  // and the order, and then a negative number gets the order added.
  for (const atMost of [Infinity, Infinity, 0]) {
    carry(x, LOW_LIMBS, 0);
    replaceHigh(x, LOW_LIMBS, atMost);
  }
  carry(x, LOW_LIMBS, 0);
  return x;
}

/** Adds the product of two reduced numbers to `sum`, in place. @returns `sum`, which is not reduced */
export function addProduct(sum: Float64Array, left: Float64Array, right: Float64Array): Float64Array {
  for (let i = 0; i <= LOW_LIMBS; i += 1)
    for (let j = 0; j <= LOW_LIMBS; j += 1) sum[i + j]! += left[i]! * right[j]!;
  return sum;
}

/** Replaces the limbs from `from` on by what they are congruent to: 2 ** 252 is congruent to -d. A part above `atMost` stays. */
function replaceHigh(x: Float64Array, from: number, atMost = Infinity): void {
  for (let i = from; i < LIMBS; i += 1) {
    const high = Math.min(x[i]!, atMost);
    x[i]! -= high;
    for (let j = 0; j < D.length; j += 1) x[i - LOW_LIMBS + j]! -= high * D[j]!;
  }
}

/**
 * Carries into each limb up to `last`, which then has the sign.
 * @param bias 0 leaves limbs from 0 to 2 ** 21; 0.5 leaves limbs around 0, so that a small negative number has no high limbs
 */
function carry(x: Float64Array, last: number, bias: number): void {
  for (let i = 0; i < last; i += 1) {
    const high = Math.floor(x[i]! / LIMB + bias);
    x[i]! -= high * LIMB;
    x[i + 1]! += high;
  }
}

/** Reads a number of at most 64 bytes, the lowest byte first. */
export function limbsOf(bytes: Buffer): Float64Array {
  const padded = Buffer.alloc(72);
  bytes.copy(padded);
  const limbs = new Float64Array(LIMBS);
  for (let i = 0; i < LIMBS - 1; i += 1) {
    const bit = i * LIMB_BITS;
    limbs[i] = (padded.readUInt32LE(bit >> 3) >>> (bit & 7)) % LIMB;
  }
  return limbs;
}

/** Writes a reduced number as 32 bytes, the lowest byte first. */
export function bytesOf(x: Float64Array): Buffer {
  const padded = Buffer.alloc(36);
  for (let i = 0; i <= LOW_LIMBS; i += 1) {
    const bit = i * LIMB_BITS;
    const at = bit >> 3;
    padded.writeUInt32LE(padded.readUInt32LE(at) + x[i]! * 2 ** (bit & 7), at);
  }
  return padded.subarray(0, SCALAR_BYTES);
}
