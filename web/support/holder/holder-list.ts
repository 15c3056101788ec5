import type { LicenseLine } from '../../../src/http/responses/api-types.js';
import { hrefOf } from '../route.js';
import { messages } from '../messages.js';

type StatusFilter = LicenseLine['status'] | 'all';
type Sort = keyof typeof messages.holder.sorts;

/**
 * Which licenses of a holder are listed, in which order, and from which page on. It is a part of the route, so that going back
 * shows the same list again.
 */
export interface LicenseListQuery {
  readonly status: StatusFilter;
  readonly sort: Sort;
  /** The `next_cursor` of the page before; empty for the first page. */
  readonly cursor: string;
}

/**
 * Reads the parts of the route after the license id. An unknown status or order counts as absent; any cursor is kept.
 */
export function parseLicenseListQuery([
  status = '',
  sort = '',
  cursor = '',
]: readonly string[]): LicenseListQuery {
  const { statuses, sorts } = messages.holder;
  return {
    status: Object.hasOwn(statuses, status) ? (status as StatusFilter) : 'all',
    sort: Object.hasOwn(sorts, sort) ? (sort as Sort) : 'issued',
    cursor,
  };
}

export const holderHref = (id: string, { status, sort, cursor }: LicenseListQuery) =>
  hrefOf('holder', id, status, sort, cursor);

/** The API path that returns these licenses of the holder. */
export function holderPath(id: string, { status, sort, cursor }: LicenseListQuery): string {
  const query = new URLSearchParams({
    sort,
    ...(status !== 'all' && { status }),
    ...(cursor && { cursor }),
  });
  return `licenses/${encodeURIComponent(id)}/holder?${query}`;
}
