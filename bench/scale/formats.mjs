import { formatCount, table } from '../measure.mjs';

const rateOf = ({ perSecond }) => `${formatCount(perSecond)}/s`;
/** The rate of a load, as the title of a column. */
export const rateTitle = (load) =>
  `${rateOf(load)}${load.isCapacity ? ' (most)' : ''}${load.hasReplica ? ', replica' : ''}`;
export const percent = (share) => `${formatCount(share * 100)} %`;
/** Makes a table with a column for each entry. @param rows the name of each row, and a function of the entry */
export const columns = (titles, entries, rows) =>
  table([['', ...titles], ...rows.map(([name, cell]) => [name, ...entries.map((entry) => cell(entry))])]);
