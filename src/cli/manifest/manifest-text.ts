import {
  findDifferingUnsignedMember,
  parseSigned,
  readDocument,
  type ManifestContent,
} from '../../keys/manifests/signed-manifest.js';
import { aligned } from '../terminal/output.js';

/** Describes the licenses that cover a version with this minimum license expiry. */
const audienceText = (minimum: string | null) =>
  minimum === null ? 'everyone' : `licenses that never expire, or not before ${minimum}`;

/**
 * Renders a manifest as text, with the key ids of its signatures, which are not verified. The
 * document repeats some members outside `signed`, for people; a copy that differs is a warning.
 */
export function manifestText(document: unknown): string {
  const { signed, signatures } = readDocument(document);
  const content = parseSigned(signed);
  const differingMember = findDifferingUnsignedMember(document, content);
  return aligned([
    ...contentRows(content),
    ...signatures.map(({ key_id }) => ['Signed with', key_id]),
    ...(differingMember
      ? [['Warning', `the unsigned copy of ${differingMember} differs from the signed value`]]
      : []),
  ]);
}

/** Returns the signed members as rows of a table. */
export function contentRows(content: ManifestContent): string[][] {
  const { version, product, sequence, previous, dmg, minimum_license_expiry } = content;
  const position = previous === null ? 'the first manifest' : `after the manifest with SHA-256 ${previous}`;
  return [
    ['Version', `${version} of ${product}`],
    ['For', audienceText(minimum_license_expiry)],
    ['Image', dmg.url],
    ['', `${dmg.size} bytes, SHA-256 ${dmg.sha256}`],
    ...content.also_available.map((older) => [
      'Also',
      `${older.version} for ${audienceText(older.minimum_license_expiry)}: ${older.dmg.url}`,
    ]),
    ['Sequence', `${sequence}, ${position}`],
    ['Issued', content.issued_at],
    ['Expires', content.expires_at],
  ];
}

/** A member that differs between two manifests. `from` or `to` is null if that manifest has no value for the member. */
interface Difference {
  readonly member: string;
  readonly from: string | number | null;
  readonly to: string | number | null;
}

/** Lists the members in which a manifest differs from the live manifest. @param live null if no manifest is live */
export function differences(live: ManifestContent | null, next: ManifestContent): Difference[] {
  const [from, to] = [flattenMembers(live), flattenMembers(next)];
  const names = new Set([...Object.keys(to), ...Object.keys(from)]);
  return [...names]
    .map((member) => ({ member, from: from[member] ?? null, to: to[member] ?? null }))
    .filter(({ from, to }) => from !== to);
}

/** Renders differences as a table. */
export function differenceText(changes: readonly Difference[]): string {
  const rows = changes.map(({ member, from, to }) => [member, `${from ?? '-'}`, `${to ?? '-'}`]);
  return aligned([['Member', 'Live', 'Next'], ...rows]);
}

/** Flattens the members of a manifest. Each older version is one member, so that adding or removing a version is one difference. */
function flattenMembers(content: ManifestContent | null): Record<string, string | number | null> {
  if (!content) return {};
  const { dmg, also_available, ...plain } = content;
  const older = also_available.map(({ version, dmg: { url }, minimum_license_expiry }) => [
    `also_available ${version}`,
    `for ${audienceText(minimum_license_expiry)}: ${url}`,
  ]);
  const image = Object.entries(dmg).map(([name, value]) => [`dmg.${name}`, value]);
  return { ...plain, ...Object.fromEntries([...image, ...older]) };
}
