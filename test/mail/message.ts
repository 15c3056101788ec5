import { MIMEType } from 'node:util';

/** A parsed mail. */
export interface Mail {
  /** The unfolded and decoded values by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
  /** The images that the HTML part may show. */
  readonly images: readonly Image[];
}

interface Image {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Parses a mail with one plain text part, one HTML part and any images. @param raw its bytes, each as one character */
export function parseMail(raw: string): Mail {
  const mail = parseEntity(raw);
  const parts = leavesOf(mail);
  const ofType = (type: string) => parts.filter(({ headers }) => headers['content-type']!.startsWith(type));
  const text = (type: string) => {
    const found = ofType(type);
    if (found.length !== 1) throw new Error(`the mail has ${found.length} parts of the type ${type}`);
    return decodeBody(found[0]!).toString('utf8').trimEnd();
  };
  const images = ofType('image/').map((part) => ({ headers: part.headers, bytes: decodeBody(part) }));
  return { headers: mail.headers, text: text('text/plain'), html: text('text/html'), images };
}

/** Returns the parts that have no parts of their own. */
function leavesOf(entity: Entity): Entity[] {
  const boundary = new MIMEType(entity.headers['content-type']!).params.get('boundary');
  if (boundary === null) return [entity];
  return entity.body.split(`--${boundary}`).slice(1, -1).map(parseEntity).flatMap(leavesOf);
}

interface Entity {
  readonly headers: Record<string, string>;
  readonly body: string;
}

function parseEntity(raw: string): Entity {
  const unix = raw.replaceAll('\r\n', '\n').replace(/^\n/, '');
  const end = unix.indexOf('\n\n');
  const lines = unix.slice(0, end).replaceAll(/\n[ \t]+/g, ' ');
  const headers = lines.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), decodeHeader(line.slice(colon + 1).trim())];
  });
  return { headers: Object.fromEntries(headers), body: unix.slice(end + 2) };
}

function decodeBody({ headers, body }: Entity): Buffer {
  const encoding = headers['content-transfer-encoding']?.toLowerCase();
  return encoding === 'base64' ? Buffer.from(body, 'base64') : decodeTransferEncoding(body, encoding);
}

function decodeTransferEncoding(body: string, encoding: string | undefined): Buffer {
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1');
  const text = body.replaceAll('=\n', '').replaceAll(/=([0-9A-F]{2})/g, byte);
  return Buffer.from(text, 'latin1');
}

/** Decodes the encoded words of a header (RFC 2047). A space between two of them is not part of the text. */
function decodeHeader(value: string): string {
  const plain = Buffer.from(value, 'latin1').toString('utf8');
  return plain.replaceAll(
    /=\?utf-8\?([BQ])\?([^?]*)\?=(?: (?==\?))?/gi,
    (_word, kind: string, text: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString('utf8')
        : decodeTransferEncoding(text.replaceAll('_', ' '), 'quoted-printable').toString('utf8'),
  );
}

const byte = (_match: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
