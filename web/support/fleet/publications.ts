import { formatShortUtcDay } from '../parts/dates.js';
import { t } from '../../shared/texts/text.js';
import type { FleetWeek, Publication } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import type { WeekRow } from './week-table.js';

const texts = messages.fleet.publications;
const DAY_MS = 86_400_000;

/** A publication in the chart of the versions. */
export interface PublicationMark {
  /** Identifies the publication, also after the data is loaded again. */
  readonly key: string;
  readonly publication: Publication;
  /** Its position on the x axis, in weeks since the last day of the first shown week; negative within that week. */
  readonly at: number;
  /** The index of the week in which it was published; that of the newest week if its own is not counted yet. */
  readonly week: number;
  readonly label: string;
}

/** Returns the publications since the first shown week began, newest first. @param weeks oldest first */
export function marksOf(
  publications: readonly Publication[],
  weeks: readonly FleetWeek[],
): readonly PublicationMark[] {
  const firstEnd = Date.parse(weeks[0]!.week_end);
  return publications
    .map((publication) => {
      const at = (dayOf(publication) - firstEnd) / (7 * DAY_MS);
      const { version, withdrawal, published_at } = publication;
      return {
        key: `${published_at} ${version}`,
        publication,
        at,
        week: Math.min(Math.max(Math.ceil(at), 0), weeks.length - 1),
        label: t(withdrawal ? texts.withdrawal : texts.publication, {
          version,
          day: formatShortUtcDay(published_at),
        }),
      };
    })
    .filter(({ at }) => at > -1);
}

/** The row of the table with the versions that were published in each week. @param weeks newest first */
export function publicationRow(publications: readonly Publication[], weeks: readonly FleetWeek[]): WeekRow {
  return {
    key: 'published',
    label: texts.row,
    cells: weeks.map(({ week_end }) => {
      const end = Date.parse(week_end);
      return publications
        .filter((each) => dayOf(each) <= end && dayOf(each) > end - 7 * DAY_MS)
        .map(({ version, withdrawal }) => (withdrawal ? t(texts.withdrawn, { version }) : version))
        .toReversed()
        .join(', ');
    }),
  };
}

/** The start of the day of a publication, in UTC. */
const dayOf = ({ published_at }: Publication) => Date.parse(published_at.slice(0, 10));
