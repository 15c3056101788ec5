import type { Refused, StoredStop } from './state.js';

/** The stop as it is stored. `release_url` is valid for ten minutes only (docs/clients.md#a-full-license). */
export function storedStop({ code, detail, extras }: StoredStop, refused: Refused): StoredStop {
  const { release_url: _, ...lasting } = extras;
  return { code, detail, extras: lasting, ...refused };
}

/** The codes of refusals that concern only one machine of the license. */
const OF_ONE_MACHINE: readonly string[] = ['binding_released', 'machine_limit_reached'];

/**
 * Whether a stored stop applies to this license, machine and version: another process, computer or version of the application may
 * have stored it (docs/clients.md#what-a-stored-stop-stops).
 */
export function appliesTo(stop: StoredStop, { license_key, mch, app_version }: Refused): boolean {
  // The user can edit the file: what is no text, or an empty one, counts as missing.
  const isOther = (stored: unknown, own: string | undefined) =>
    typeof stored === 'string' && stored !== '' && own !== undefined && stored !== own;
  if (isOther(stop.license_key, license_key)) return false;
  if (OF_ONE_MACHINE.includes(stop.code)) return !isOther(stop.mch, mch);
  // An earlier client stored no version. It was part of an earlier version of the application, so its stop does not apply.
  return stop.code !== 'version_not_covered' || stop.app_version === app_version;
}
