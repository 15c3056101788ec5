import { DAY_MS } from '../../core/clock.js';
import { isLower } from '../../keys/manifests/manifest-content.js';
import { compareVersions, entryOf, type ManifestContent } from '../../keys/manifests/signed-manifest.js';
import type { Unusual } from '../terminal/confirm.js';

/**
 * A time more than a leap year ahead is unusual. Until a manifest expires, an attacker can send clients an old copy; and most
 * licenses are sold for a year, so a minimum further ahead excludes also the newest of them.
 */
const LONGEST_USUAL_MS = 366 * DAY_MS;

/** What is known about a manifest before it is signed. */
interface Draft {
  readonly next: ManifestContent;
  readonly live: ManifestContent | null;
  readonly now: Date;
  /** Whether the image is a disk image; undefined for `refresh` and `withdraw`, which read none. */
  readonly isDiskImage?: boolean;
}

/** The options that confirm something unusual. */
export interface Confirmations {
  readonly longExpiry?: true;
  readonly again?: true;
  readonly anyFormat?: true;
  readonly forEveryone?: true;
  readonly lowMinimum?: true;
  readonly highMinimum?: true;
}

/** Lists what is unusual and not confirmed by an option: a mistake cannot be undone once the manifest is published. */
export function unusualIn(draft: Draft, confirmed: Confirmations): Unusual[] {
  const { version } = draft.next;
  const checks: [option: string, isConfirmed: true | undefined, sentence: string | null][] = [
    ['--long-expiry', confirmed.longExpiry, longExpiry(draft)],
    ['--again', confirmed.again, sameImage(draft)],
    ['--any-format', confirmed.anyFormat, noDiskImage(draft)],
    ['--for-everyone', confirmed.forEveryone, lostMinimum(draft)],
    ['--low-minimum', confirmed.lowMinimum, lowMinimum(draft)],
    ['--high-minimum', confirmed.highMinimum, highMinimum(draft)],
  ];
  return checks.flatMap(([option, isConfirmed, sentence]) =>
    sentence === null || isConfirmed ? [] : [{ sentence, name: version, option }],
  );
}

const isOverAYearAhead = (time: string, now: Date) => Date.parse(time) - now.getTime() > LONGEST_USUAL_MS;

function longExpiry({ next, now }: Draft): string | null {
  if (!isOverAYearAhead(next.expires_at, now)) return null;
  return `The manifest would expire at ${next.expires_at}, over a year ahead: until then, an attacker can offer clients this version in place of later ones.`;
}

/** Whether the command is `sign`. `refresh` and `withdraw` sign an image again on purpose, and without a new minimum. */
const isSignCommand = ({ isDiskImage }: Draft) => isDiskImage !== undefined;

function sameImage(draft: Draft): string | null {
  const { next, live } = draft;
  if (!live || !isSignCommand(draft)) return null;
  const offered = [entryOf(live), ...live.also_available];
  const same = offered.find(({ dmg }) => dmg.sha256 === next.dmg.sha256);
  if (!same) return null;
  return compareVersions(same.version, next.version) === 0
    ? `Version ${next.version} is published already with this image: manifest refresh gives it a later expiry.`
    : `This image is that of version ${same.version}, which is published already: version ${next.version} needs the image of its own build.`;
}

function noDiskImage({ next, isDiskImage }: Draft): string | null {
  if (isDiskImage !== false) return null;
  return `The file of version ${next.version} is not a disk image: a .dmg ends with a block that begins with koly.`;
}

function lostMinimum(draft: Draft): string | null {
  const { next, live } = draft;
  const minimum = live?.minimum_license_expiry ?? null;
  if (minimum === null || next.minimum_license_expiry !== null || !isSignCommand(draft)) return null;
  return `Version ${next.version} would be for everyone, and the live version ${live!.version} is only for licenses that expire not before ${minimum}: without --minimum-license-expiry, no license needs a renewal for it, and a minimum cannot be added later.`;
}

function lowMinimum(draft: Draft): string | null {
  const { next, live } = draft;
  const [minimum, before] = [next.minimum_license_expiry, live?.minimum_license_expiry ?? null];
  if (minimum === null || !isLower(minimum, before) || !isSignCommand(draft)) return null;
  return `Version ${next.version} would be for licenses that expire not before ${minimum}, and the live version ${live!.version} only for those that expire not before ${before}: a minimum cannot be raised later.`;
}

function highMinimum(draft: Draft): string | null {
  const { version, minimum_license_expiry: minimum } = draft.next;
  if (minimum === null || !isOverAYearAhead(minimum, draft.now) || !isSignCommand(draft)) return null;
  return `Version ${version} would be only for licenses that expire not before ${minimum}, over a year ahead: copies of it would stop on every other license, also on one that is bought today for a year.`;
}
