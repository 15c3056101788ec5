import { crc32, deflateSync } from 'node:zlib';

/** Three times the height at which the pages show it. */
const SIZE = 66;
const CENTER = (SIZE - 1) / 2;

/**
 * Draws the logo of an invented vendor: a disc with a gradient and a ring. It has 3 KB, as a usual logo of this size.
 * @returns the bytes of a PNG image
 */
export function drawLogo() {
  const rows = Array.from({ length: SIZE }, (_, y) =>
    Array.from({ length: SIZE }, (_, x) => pixel(x, y)).flat(),
  );
  // Each row begins with the number of its filter. Filter 4 stores the difference of each byte from a prediction, so that gradients
  // are compressed well.
  const filteredRows = rows.flatMap((row, y) => [4, ...row.map((_, at) => difference(rows, y, at))]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  // 8 bits for each of red, green, blue and opacity.
  header.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Uint8Array.from(filteredRows), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function pixel(x, y) {
  const radius = Math.hypot(x - CENTER, y - CENTER);
  const ring = edge(4 - Math.abs(radius - 24));
  const shade = (x + y) / (2 * SIZE);
  const mix = (from, to) => Math.round((from + (to - from) * shade) * (1 - ring) + 255 * ring);
  return [mix(107, 58), mix(63, 110), mix(160, 220), Math.round(255 * edge(CENTER - radius))];
}

/** @returns 0 outside of a shape, 1 inside, and a value between on its border */
const edge = (distance) => Math.min(1, Math.max(0, distance));

/** The Paeth filter: https://www.w3.org/TR/png-3/#9Filter-type-4-Paeth */
function difference(rows, y, at) {
  const byteOf = (row, index) => rows[row]?.[index] ?? 0;
  const [left, above, corner] = [byteOf(y, at - 4), byteOf(y - 1, at), byteOf(y - 1, at - 4)];
  const estimate = left + above - corner;
  const distance = (value) => Math.abs(estimate - value);
  const nearest = [left, above, corner].reduce((best, value) =>
    distance(value) < distance(best) ? value : best,
  );
  return (rows[y][at] - nearest) & 0xff;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
