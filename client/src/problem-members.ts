import { isShallow } from './json.js';
import { parseTime } from './time.js';
import { isVersion } from './version.js';
import { isWebAddress } from './web-address.js';

/**
 * A deeper member is left out. In the state file a member is nested two levels deeper than in the response, so without this limit
 * `parseObject` might not read the file.
 */
const MAX_LEVELS = 4;

type Check<T> = (value: unknown) => value is T;
type Members = Readonly<Record<string, unknown>>;

const count: Check<number> = (value): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;
const instant: Check<string> = (value): value is string => parseTime(value) !== undefined;
const orNull =
  <T>(check: Check<T>): Check<T | null> =>
  (value): value is T | null =>
    value === null || check(value);

/** The problem codes of activate, heartbeat and manifest, with the members of each (docs/errors.md). */
export const PROBLEM_MEMBERS = {
  malformed_request: {},
  not_found: {},
  method_not_allowed: {},
  body_too_large: {},
  unsupported_media_type: {},
  invalid_request: {},
  license_not_found: {},
  license_suspended: {},
  license_refunded: {},
  license_revoked: {},
  license_expired: { expired_at: instant },
  version_not_covered: {
    minimum_license_expiry: orNull(instant),
    newest_covered_version: orNull(isVersion),
    download_url: orNull(isWebAddress),
  },
  machine_limit_reached: {
    machines_allowed: count,
    machines_in_use: count,
    portal_url: isWebAddress,
    release_url: isWebAddress,
  },
  binding_released: {},
  token_invalid: {},
  no_version_published: {},
  internal_error: {},
  unavailable: {},
} as const satisfies Record<string, Record<string, Check<unknown>>>;

export type ProblemCode = keyof typeof PROBLEM_MEMBERS;

type Checked<Checks> = { readonly [Name in keyof Checks]?: Checks[Name] extends Check<infer T> ? T : never };

/** The additional members of a problem with this code. Each may be missing: a member of the wrong type is left out. */
export type ProblemExtras<Code extends ProblemCode> = Members & Checked<(typeof PROBLEM_MEMBERS)[Code]>;

/**
 * Removes each member that fails its check in `PROBLEM_MEMBERS` for this code. A member without a check is kept, because a newer
 * service may have added it, unless it has more than four levels of objects or lists.
 */
export function checkedMembers(code: string, members: Members): Members {
  const known = Object.hasOwn(PROBLEM_MEMBERS, code) ? PROBLEM_MEMBERS[code as ProblemCode] : {};
  const checks = new Map<string, Check<unknown>>(Object.entries(known));
  return Object.fromEntries(
    Object.entries(members).filter(
      ([name, value]) => checks.get(name)?.(value) ?? isShallow(value, MAX_LEVELS),
    ),
  );
}
