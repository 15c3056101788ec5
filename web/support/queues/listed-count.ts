import { MAX_LISTED_REQUESTS } from '../../../src/fields/max-listed-requests.js';
import type { Forms } from '../../../src/languages/messages.js';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';

/**
 * Returns the text about a number of requests in a list.
 * @param length the length of the whole list
 * @param atLimit the text for a list that has reached its limit, so that others may be missing
 */
export const listedCount = (count: number, length: number, forms: Forms, atLimit: string): string =>
  length < MAX_LISTED_REQUESTS ? plural(count, forms) : t(atLimit, { count: formatNumber(count) });
