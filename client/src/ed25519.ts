/** The prime of the field, and the constant of the curve, of Ed25519 (RFC 8032, section 5.1). */
const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * Whether 32 bytes are the canonical encoding of a point that is not of small order. Node accepts any 32 bytes as a public key.
 * Under a key of small order, such as 32 zero bytes, some versions of Node verify signatures that everyone can make.
 */
export function isPublicKey(bytes: Buffer): boolean {
  const y = BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`) & (2n ** 255n - 1n);
  if (y >= P) return false;
  const yy = (y * y) % P;
  // The points of small order have x = 0, y = 0, or twice themselves y = 0.
  if ((y * (yy - 1n) * (D * yy * yy + 2n * yy - 1n)) % P === 0n) return false;
  // The curve is -x² + y² = 1 + d·x²·y², so x² is u / v, which is a square if u · v is one.
  const [u, v] = [yy - 1n, D * yy + 1n];
  return power(u * v, (P - 1n) / 2n) === 1n;
}

/** Returns a power modulo the prime. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = base % P, rest = exponent; rest > 0n; square = (square * square) % P, rest >>= 1n)
    if (rest & 1n) result = (result * square) % P;
  return result;
}
