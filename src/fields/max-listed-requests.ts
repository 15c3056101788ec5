/**
 * The queue of release requests and the list of erasure requests have at most this many. The page uses this file too, so the file
 * imports nothing.
 */
export const MAX_LISTED_REQUESTS = 500;
