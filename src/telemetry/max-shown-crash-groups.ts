/**
 * The fleet page shows at most this many crash groups, the largest, because one client can create thousands. The page uses this
 * file too, so the file imports nothing.
 */
export const MAX_SHOWN_CRASH_GROUPS = 200;
