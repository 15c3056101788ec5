import { readFileSync, statSync } from 'node:fs';
import { Injectable } from '@nestjs/common';
import { Config } from '../core/config.js';
import { ConfigError } from '../core/config-error.js';

const MAX_BYTES = 100 * 1024;
const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** What XML allows before the first element: white space, processing instructions, comments and the document type. */
const PROLOG = [
  /\s/,
  /<\?(?:(?!\?>)[^])*\?>/,
  /<!--(?:(?!-->)[^])*-->/,
  /<!DOCTYPE\s+svg\b[^[>]*(?:\[[^\]]*\]\s*)?>/,
];
const SVG = new RegExp(`^(?:${PROLOG.map(({ source }) => source).join('|')})*<svg[\\s>/]`);

export interface Image {
  readonly type: 'image/png' | 'image/svg+xml';
  readonly bytes: Buffer;
}

/** The image of the logo, which is read once, at start. */
@Injectable()
export class Logo {
  /** Null if LOGO_FILE is not given. */
  readonly image: Image | null;

  /** The image for mails; null without a PNG image, because most mail clients show no SVG image. */
  get mailImage(): Image | null {
    return this.image?.type === 'image/png' ? this.image : null;
  }

  /** @throws ConfigError if the file cannot be read or is no PNG or SVG image of at most 100 KiB */
  constructor({ brand }: Config) {
    this.image = brand.logoFile === null ? null : readImage(brand.logoFile);
  }
}

function readImage(file: string): Image {
  const bytes = readBytes(file);
  if (bytes.length > MAX_BYTES) throw new ConfigError(`LOGO_FILE must have at most ${MAX_BYTES / 1024} KiB.`);
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return { type: 'image/png', bytes };
  if (SVG.test(bytes.toString('utf8'))) return { type: 'image/svg+xml', bytes };
  throw new ConfigError('LOGO_FILE must be a PNG or SVG image.');
}

function readBytes(file: string): Buffer {
  const fault = (why: string | undefined) => new ConfigError(`LOGO_FILE cannot be read: ${file} (${why}).`);
  try {
    // A device or a pipe may have no end.
    if (statSync(file).isFile()) return readFileSync(file);
  } catch (error) {
    throw fault((error as NodeJS.ErrnoException).code);
  }
  throw fault('it is not a file');
}
