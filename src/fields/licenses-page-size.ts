/**
 * How many licenses a search, or a page of the licenses of a holder, has at most. The support page uses this file too, so the file
 * imports nothing.
 */
export const LICENSES_PAGE_SIZE = 50;
