// Writes tar archives in the format ustar (POSIX.1-1988), whose bytes depend on nothing but the files. The `tar` programs of Linux
// and macOS have different options for that.

const BLOCK = 512;

/**
 * Renders an archive of regular files.
 * @param files `path` in the archive, `content`, `mode` and `mtime` (seconds), in the order in which they are archived
 * @returns the bytes of the archive, without compression
 */
export function ustar(files) {
  const parts = files.flatMap((file) => [header(file), file.content, padding(file.content.length)]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

const padding = (size) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** Renders the header of a file. Numbers are octal. */
function header({ path, content, mode, mtime }) {
  const bytes = Buffer.alloc(BLOCK);
  const number = (value, offset, digits) => bytes.write(value.toString(8).padStart(digits, '0'), offset);
  const { prefix, name } = split(path);
  bytes.write(name, 0);
  number(mode, 100, 7);
  number(0, 108, 7); // The user and the group: root.
  number(0, 116, 7);
  number(content.length, 124, 11);
  number(mtime, 136, 11);
  bytes.write('0', 156); // A regular file.
  bytes.write('ustar\x0000', 257); // The name of the format, a NUL, and the version `00`.
  bytes.write('root', 265);
  bytes.write('root', 297);
  bytes.write(prefix, 345);
  // The checksum is that of a header whose own checksum consists of spaces.
  bytes.fill(' ', 148, 156);
  number(
    bytes.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  bytes[154] = 0;
  return bytes;
}

/** Splits a path at a slash: a header has 155 bytes for its beginning and 100 for its end. */
function split(path) {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name };
  }
  throw new Error(`The path ${path} is too long for ustar.`);
}
