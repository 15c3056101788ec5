import { outerMatches, parseSigned, readDocument, type ManifestContent } from '../keys/signed-manifest.js';
import { aligned } from './terminal.js';

const whoHas = (minimum: string | null) =>
  minimum === null ? 'everyone' : `licenses that never expire, or not before ${minimum}`;

/** A manifest for a person. Whose signatures it has is told, not whether they hold. */
export function manifestText(document: unknown): string {
  const { signed, signatures } = readDocument(document);
  const content = parseSigned(signed);
  const differs = outerMatches(document, content);
  return aligned([
    ...contentRows(content),
    ...signatures.map(({ key_id }) => ['Signed with', key_id]),
    ...(differs ? [['Beware', `the outer ${differs} differs from the signed one`]] : []),
  ]);
}

/** The members of what was signed, as lines of a table. */
export function contentRows(content: ManifestContent): string[][] {
  const { version, product, sequence, dmg, minimum_license_expiry } = content;
  return [
    ['Version', `${version} of ${product}`],
    ['For', whoHas(minimum_license_expiry)],
    ['Image', dmg.url],
    ['', `${dmg.size} bytes, SHA-256 ${dmg.sha256}`],
    ...content.also_available.map((older) => [
      'Also',
      `${older.version} for ${whoHas(older.minimum_license_expiry)}: ${older.dmg.url}`,
    ]),
    ['Sequence', `${sequence}, after ${content.previous ?? 'none'}`],
    ['Issued', content.issued_at],
    ['Expires', content.expires_at],
  ];
}
