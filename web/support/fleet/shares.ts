import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { formatPercent } from '../parts/dates.js';

/** Returns a share in whole percent. */
export const toPercent = (share: number) => Math.round(100 * share);

/** Formats whole percents of a value that is in use, which never has 0 %: `37%`, `< 1%`. */
export const formatUsed = (percent: number): string =>
  percent === 0 ? t(messages.fleet.lessThan, { share: formatPercent(0.01) }) : formatPercent(percent / 100);
