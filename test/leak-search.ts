import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';

/*
 * Looks for something that must not be there, in every form in which it could have been written down. Four bare bytes
 * are no form: in tens of megabytes they turn up by chance. In tables they would show as a number or as hex, which are
 * searched for; in raw files the forms that PostgreSQL and the kernel give an address are, which are longer.
 */

/** One way to write a canary; `binary` where it is no text. */
export interface Form {
  readonly what: string;
  readonly bytes: Buffer;
  readonly binary: boolean;
}

/** The forms of a text: as it is, escaped, encoded, as a list of its bytes, and hashed. */
export function formsOfText(canary: string): Form[] {
  const bytes = Buffer.from(canary);
  return [
    text(canary, canary),
    text(`${canary} in lower case`, canary.toLowerCase()),
    text(`${canary} in upper case`, canary.toUpperCase()),
    text(`${canary} in a URL`, encodeURIComponent(canary)),
    binary(`${canary} in UTF-16`, Buffer.from(canary, 'utf16le')),
    ...encodings(canary, bytes),
    ...hashes(canary),
  ];
}

/** The forms of an IP address: those of its texts, and those of its number. */
export function formsOfAddress(address: string): Form[] {
  return isIPv6(address) ? formsOfV6(address) : formsOfV4(address);
}

function formsOfV4(address: string): Form[] {
  const bytes = Buffer.from(address.split('.').map(Number));
  const hex = bytes.toString('hex');
  const mapped = `::ffff:${hex.slice(0, 4)}:${hex.slice(4)}`.replaceAll(/:0+(?=[0-9a-f])/g, ':');
  return [
    ...formsOfText(address),
    ...formsOfText(`::ffff:${address}`),
    text(`${address} mapped, in hex`, mapped),
    text(`${address} mapped, in full`, `0:0:0:0:0:${mapped.slice(2)}`),
    text(`${address} as an integer`, String(bytes.readUInt32BE())),
    text(`${address} as an integer, little-endian`, String(bytes.readUInt32LE())),
    ...encodings(`the bytes of ${address}`, bytes),
    // IPv4 within IPv6, as sockets report it; `inet` (family, bits, address); sockaddr_in without its port.
    binary(`${address} mapped, in bytes`, Buffer.concat([Buffer.from('ffff', 'hex'), bytes])),
    binary(`${address} as inet`, Buffer.concat([Buffer.from([2, 32]), bytes])),
    binary(`${address} as sockaddr`, Buffer.concat([bytes, Buffer.alloc(8)])),
  ];
}

function formsOfV6(address: string): Form[] {
  const [left = '', right = ''] = address.split('::');
  const groups = (part: string) => (part ? part.split(':') : []);
  const zeros = Array<string>(8 - groups(left).length - groups(right).length).fill('0');
  const all = [...groups(left), ...zeros, ...groups(right)];
  const full = all.map((group) => group.padStart(4, '0'));
  const bytes = Buffer.from(full.join(''), 'hex');
  return [
    ...formsOfText(address),
    text(`${address} in full`, full.join(':')),
    text(`${address} without zeros`, all.join(':')),
    text(`${address} as an integer`, String(BigInt(`0x${full.join('')}`))),
    ...encodings(`the bytes of ${address}`, bytes),
    binary(`${address} in bytes`, bytes),
  ];
}

function encodings(canary: string, bytes: Buffer): Form[] {
  const list = [...bytes].join(',');
  const hex = bytes.toString('hex');
  return [
    text(`${canary} in hex`, hex),
    text(`${canary} in upper hex`, hex.toUpperCase()),
    text(`${canary} in spaced hex`, hex.replaceAll(/..(?!$)/g, '$& ')),
    text(`${canary} in hex with colons`, hex.replaceAll(/..(?!$)/g, '$&:')),
    text(`${canary} as a list of bytes`, list),
    text(`${canary} as a spaced list of bytes`, list.replaceAll(',', ', ')),
    ...base64(canary, bytes),
  ];
}

/** In base64, also where it does not begin with the encoded text: what stays the same at each of three offsets. */
function base64(canary: string, bytes: Buffer): Form[] {
  return (['base64', 'base64url'] as const).flatMap((encoding) =>
    [0, 1, 2].map((offset) => {
      const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
      const whole = shifted.toString(encoding).replace(/=+$/, '');
      // The symbols at the edges hold bits of the neighbours as well.
      const from = Math.ceil((offset * 8) / 6);
      const to = Math.floor((shifted.length * 8) / 6);
      return text(`${canary} in ${encoding}, offset ${offset}`, whole.slice(from, to));
    }),
  );
}

function hashes(canary: string): Form[] {
  return ['md5', 'sha1', 'sha256'].flatMap((algorithm) => {
    const digest = hash(algorithm, canary, 'buffer');
    return [
      text(`${algorithm} of ${canary}, in hex`, digest.toString('hex')),
      text(`${algorithm} of ${canary}, in upper hex`, digest.toString('hex').toUpperCase()),
      text(`${algorithm} of ${canary}, in base64`, digest.toString('base64').replace(/=+$/, '')),
      text(`${algorithm} of ${canary}, in base64url`, digest.toString('base64url')),
      binary(`${algorithm} of ${canary}, in bytes`, digest),
    ];
  });
}

const text = (what: string, form: string): Form => ({ what, bytes: Buffer.from(form), binary: false });
const binary = (what: string, bytes: Buffer): Form => ({ what, bytes, binary: true });

/** Finds many forms in one pass: a table says at each byte whether a form may begin there. */
export class LeakSearch {
  readonly #mayStart = new Uint8Array(0x1_0000);
  readonly #starts = new Map<number, Form[]>();

  constructor(readonly forms: readonly Form[]) {
    for (const form of forms) {
      const start = form.bytes.readUInt32BE();
      this.#mayStart[start >>> 16] = 1;
      this.#starts.set(start, [...(this.#starts.get(start) ?? []), form]);
    }
  }

  /** What was found in some bytes, each form once. */
  in(haystack: Buffer | string): Set<string> {
    const bytes = typeof haystack === 'string' ? Buffer.from(haystack) : haystack;
    const found = new Set<string>();
    for (let at = 0; at + 3 < bytes.length; at += 1) {
      if (!this.#mayStart[(bytes[at]! << 8) | bytes[at + 1]!]) continue;
      for (const { what, bytes: form } of this.#starts.get(bytes.readUInt32BE(at)) ?? []) {
        if (bytes.subarray(at, at + form.length).equals(form)) found.add(what);
      }
    }
    return found;
  }

  /** What was found in the files below a directory: `file: what`. */
  inFiles(directory: string): string[] {
    return filesBelow(directory).flatMap((file) => {
      const bytes = readFileSync(file);
      const found = [...this.in(file.includes('/pg_wal/') ? withoutPageHeaders(bytes) : bytes)];
      return found.map((what) => `${file}: ${what}`);
    });
  }
}

/** A write-ahead log without the headers of its pages of 8 KiB, which else would cut a form in two. */
function withoutPageHeaders(log: Buffer): Buffer {
  const pages = Array.from({ length: Math.ceil(log.length / 8192) }, (_each, page) =>
    log.subarray(page * 8192 + (page === 0 ? 40 : 24), (page + 1) * 8192),
  );
  return Buffer.concat(pages);
}

export function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
