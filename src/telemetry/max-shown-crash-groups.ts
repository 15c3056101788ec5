/**
 * The page of staff shows the largest crash groups, because one client can create thousands of groups. The page uses this file too,
 * so it imports nothing.
 */
export const MAX_SHOWN_CRASH_GROUPS = 200;
