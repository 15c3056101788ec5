import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { ofThisFile } from './of-this-file.js';

/*
 * Searches for a canary, a value that must not be stored, in every form in which it could be stored. The searched data contains
 * much random text: tokens, ids and hashes. A form so short that it may occur there by chance is left out (four raw bytes), or
 * is searched as a whole word only (four bytes in hex). `LeakSearch` computes the probability of a match by chance.
 */

/** One encoding of a canary; `binary` if it is not text. */
export interface Form {
  readonly what: string;
  readonly bytes: Buffer;
  readonly binary: boolean;
}

/** A form that matches fewer random bits than this is searched as a whole word. */
const MIN_BITS = 64;
/** The largest accepted probability that all searches of a test file together find a form in random data. */
const MAX_CHANCE = 1e-6;
/** The characters of a word: the symbols of hex, decimal numbers, base64 and base64url, and the hyphen of ids. */
const WORD = /[A-Za-z0-9+/_-]/;

/** The number of random bits that a form matches: 4 for each symbol in hex, 6 in base64, 8 elsewhere. */
function bitsOf({ bytes, binary }: Form): number {
  const form = bytes.toString('latin1');
  if (!binary && /^([0-9a-f]+|[0-9A-F]+)$/.test(form)) return 4 * bytes.length;
  if (!binary && /^[A-Za-z0-9+/_-]+$/.test(form)) return 6 * bytes.length;
  return 8 * bytes.length;
}

/**
 * Whether a form is searched as a whole word. Random texts are longer words, so they do not match. In a write-ahead log other
 * bytes follow a value without a gap, so such a form may be missed there; in the file of a table it is found.
 */
export const isWord = (form: Form) =>
  !form.binary && (bitsOf(form) < MIN_BITS || /^(0|\\)x[\da-f]+$/i.test(form.bytes.toString('latin1')));

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
    // Random hex may begin with these four bytes too, so they count only if nothing follows.
    ...[hex, hex.toUpperCase()].flatMap((digits) => [
      text(`${address} as bytea`, `\\x${digits}`),
      text(`${address} as a hexadecimal number`, `0x${digits}`),
    ]),
    // IPv4 within IPv6, as sockets report it; `inet` as PostgreSQL stores it, with a length of one or of four bytes before
    // family, bits and address; sockaddr_in without its port.
    binary(
      `${address} mapped, in bytes`,
      Buffer.concat([Buffer.alloc(10), Buffer.from('ffff', 'hex'), bytes]),
    ),
    binary(`${address} as inet`, Buffer.concat([Buffer.from([15, 2, 32]), bytes])),
    binary(
      `${address} as inet, with a long length`,
      Buffer.concat([Buffer.from([40, 0, 0, 0, 2, 32]), bytes]),
    ),
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

/**
 * The forms in base64, also inside a longer encoded text: for each of the three offsets, the characters that depend on the bytes
 * of the canary alone. A short canary has too few such characters, so only its own encoding is searched, as a whole word.
 */
function base64(canary: string, bytes: Buffer): Form[] {
  return (['base64', 'base64url'] as const).flatMap((encoding) => {
    const alone = text(`${canary} in ${encoding}`, bytes.toString(encoding).replace(/=+$/, ''));
    if (bitsOf(alone) < MIN_BITS) return [alone];
    return [0, 1, 2].map((offset) => {
      const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
      const whole = shifted.toString(encoding).replace(/=+$/, '');
      // The symbols at the edges also contain bits of the neighbouring bytes.
      const from = Math.ceil((offset * 8) / 6);
      const to = Math.floor((shifted.length * 8) / 6);
      return text(`${canary} in ${encoding}, offset ${offset}`, whole.slice(from, to));
    });
  });
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

/** The position of the four bytes by which a form is found. Leading zeros are skipped, because table files are full of them. */
function anchorOf({ bytes }: Form): number {
  const last = bytes.length - 4;
  const start = bytes.findIndex((byte) => byte !== 0);
  return start < 0 ? last : Math.min(start, last);
}

/** Finds many forms in one pass: a table tells whether two bytes may be the beginning of the anchor of a form. */
export class LeakSearch {
  static readonly #ofFile = ofThisFile(() => ({ chance: 0 }));

  /** The probability that all searches of this test file together find a form in random data. */
  static get chance(): number {
    return LeakSearch.#ofFile().chance;
  }

  readonly #mayStart = new Uint8Array(0x1_0000);
  readonly #anchored = new Map<number, { form: Form; anchor: number }[]>();
  readonly #words = new Set<Form>();
  /** The probability that a form begins at a given position of random data. */
  readonly #chancePerPosition: number;

  constructor(readonly forms: readonly Form[]) {
    const words = forms.filter(isWord);
    this.#words = new Set(words);
    const different = new Map(forms.map((form) => [form.bytes.toString('latin1'), form]));
    const bits = [...different.values()].map((form) =>
      // Random text is one longer word, so a word matches by chance only among random bytes: 8 bits a character, and on each
      // side a byte that is no symbol of a word (one of 190 values).
      this.#words.has(form) ? 8 * form.bytes.length + 2 * Math.log2(256 / 190) : bitsOf(form),
    );
    this.#chancePerPosition = bits.reduce((sum, each) => sum + 2 ** -each, 0);
    for (const form of forms) {
      const anchor = anchorOf(form);
      const start = form.bytes.readUInt32BE(anchor);
      this.#mayStart[start >>> 16] = 1;
      this.#anchored.set(start, [...(this.#anchored.get(start) ?? []), { form, anchor }]);
    }
  }

  /** Returns the forms that were found, each once. @throws Error if a match by chance has become too probable */
  in(haystack: Buffer | string): Set<string> {
    const bytes = typeof haystack === 'string' ? Buffer.from(haystack) : haystack;
    const found = new Set<string>();
    LeakSearch.#ofFile().chance += bytes.length * this.#chancePerPosition;
    if (LeakSearch.chance > MAX_CHANCE)
      throw new Error(`A match by chance has the probability ${LeakSearch.chance}`);
    for (let at = 0; at + 3 < bytes.length; at += 1) {
      if (!this.#mayStart[(bytes[at]! << 8) | bytes[at + 1]!]) continue;
      for (const { form, anchor } of this.#anchored.get(bytes.readUInt32BE(at)) ?? []) {
        const from = at - anchor;
        const end = from + form.bytes.length;
        if (from < 0 || !bytes.subarray(from, end).equals(form.bytes)) continue;
        if (!this.#words.has(form) || isAlone(bytes, from, end)) found.add(form.what);
      }
    }
    return found;
  }

  /** Returns the forms that were found in the files below a directory, as `file: form`. */
  inFiles(directory: string): string[] {
    return filesBelow(directory).flatMap((file) => {
      const bytes = contentOf(file);
      const found = [...this.in(file.includes('/pg_wal/') ? withoutPageHeaders(bytes) : bytes)];
      return found.map((what) => `${file}: ${what}`);
    });
  }
}

/** Reads a file; empty if a running server has removed it meanwhile. */
function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

/** Whether the text between two positions is a whole word, not a part of a longer one. */
function isAlone(bytes: Buffer, from: number, to: number): boolean {
  return ![from - 1, to].some((at) => WORD.test(String.fromCharCode(bytes[at] ?? 0)));
}

/** A write-ahead log without the headers of its 8 KiB pages (40 bytes in the first, 24 in others), which could divide a form. */
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
