import { closeSync, openSync, readSync } from 'node:fs';

/** The tables of the sockets of this network namespace, which only Linux has. Sockets that listen are at their beginning. */
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** The size of the lines of about a hundred sockets. A read returns a page, which has about 27 of them. */
const MAX_BYTES = 16 * 1024;

/** A socket that does not listen: its state is not 0A. */
const NOT_LISTENING = / (?!0A)[0-9A-F]{2} [0-9A-F]{8}:/;

/**
 * Reads a table to the end of the sockets that listen, or until the buffer is full. The buffer is emptied, because the last lines
 * can have addresses of clients.
 */
function readListening(file: number, bytes: Buffer): string {
  for (let length = 0; ;) {
    const read = readSync(file, bytes, length, bytes.length - length, length);
    length += read;
    const text = bytes.toString('latin1', 0, length);
    if (read > 0 && !NOT_LISTENING.test(text)) continue;
    bytes.fill(0);
    return text;
  }
}

/**
 * Returns a function that reads how many connections wait in the kernel's queue of a port; undefined if the system does not say. If
 * instances share the port, it is the mean of their queues. The files are opened once, because a busy process may have no free
 * descriptor later.
 */
export function acceptQueueLength(port: number): () => number | undefined {
  let files = TABLES.flatMap((path) => {
    try {
      return [openSync(path, 'r')];
    } catch {
      return [];
    }
  });
  const bytes = Buffer.alloc(MAX_BYTES);
  // The columns are the local and the remote address, the state (0A: it listens), and the lengths of the two queues.
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const listening = new RegExp(`:${hexPort} [0-9A-F]+:0000 0A [0-9A-F]+:([0-9A-F]+)`, 'g');
  const readLengths = (file: number) =>
    [...readListening(file, bytes).matchAll(listening)].map(([, length]) => parseInt(length!, 16));
  return () => {
    const tables = files.map((file) => ({ file, lengths: readLengths(file) }));
    const lengths = tables.flatMap((table) => table.lengths);
    if (lengths.length === 0) return undefined;
    // The clients are in the same table as the port. The other one can be without sockets: the kernel then searches all sockets of
    // the machine, which takes milliseconds.
    for (const table of tables) if (table.lengths.length === 0) closeSync(table.file);
    files = tables.filter((table) => table.lengths.length > 0).map((table) => table.file);
    return lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  };
}
