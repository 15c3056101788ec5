import { formatNumber, plural } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { messages } from '../messages.js';
import type { CrashGroup } from '../../shared/api-types.js';
import { Section } from './section.js';
import { Spark } from './spark.js';
import { WeekTable } from './week-table.js';

const ROWS_SHOWN_AT_FIRST = 20;
const texts = messages.fleet;

interface Props {
  readonly groups: readonly CrashGroup[];
  /** Newest first. */
  readonly weeks: readonly string[];
}

/** The groups of equal crashes. A group shows where in the code the application crashed, but not on which machines. */
export function Crashes({ groups, weeks }: Props) {
  const { shown, showAllButton } = useFirstRows(groups, ROWS_SHOWN_AT_FIRST);
  const title = texts.sections.crashes;
  const columns: readonly Column<CrashGroup>[] = [
    ...COLUMNS,
    { name: texts.trend, cell: (group) => <Spark counts={countsOf(group, weeks)} /> },
  ];
  return (
    <Section
      title={title}
      table={groups.length > 0 ? () => <CrashTable groups={shown} weeks={weeks} /> : undefined}
    >
      {groups.length === 0 ? (
        <p>{texts.crashNone}</p>
      ) : (
        <Table
          caption={plural(groups.length, texts.crashCaption)}
          columns={columns}
          rows={shown}
          idOf={({ crash_sig }) => crash_sig}
        />
      )}
      {showAllButton}
    </Section>
  );
}

const COLUMNS: readonly Column<CrashGroup>[] = [
  {
    name: texts.label,
    isRowHeader: true,
    cell: ({ crash_label, crash_sig }) => (
      <>
        {crash_label ? <UntrustedText text={crash_label} /> : <span class="quiet">{texts.unlabelled}</span>}
        <span class="quiet small change">{t(texts.group, { sig: crash_sig })}</span>
      </>
    ),
  },
  {
    name: texts.frame,
    cell: ({ crash_frame }) =>
      crash_frame ? (
        <span class="mono small">
          <UntrustedText text={crash_frame} />
        </span>
      ) : (
        <span class="quiet">{texts.noFrame}</span>
      ),
  },
  { name: texts.versions, cell: ({ first_version, last_version }) => rangeText(first_version, last_version) },
  {
    name: texts.total,
    isNumber: true,
    cell: ({ weeks }) => formatNumber(weeks.reduce((sum, { crashes }) => sum + crashes, 0)),
  },
];

function rangeText(first: string | null, last: string | null): string {
  if (first === null || last === null) return texts.notReported;
  return first === last ? first : t(texts.versionRange, { first, last });
}

/** The number of crashes in each week, newest first; 0 for a week without a crash. */
function countsOf(group: CrashGroup, weeks: readonly string[]): number[] {
  const byWeek = new Map(group.weeks.map(({ week_end, crashes }) => [week_end, crashes]));
  return weeks.map((week) => byWeek.get(week) ?? 0);
}

function CrashTable({ groups, weeks }: Props) {
  const rows = groups.map((group) => ({
    key: group.crash_sig,
    label: group.crash_label ?? t(texts.group, { sig: group.crash_sig }),
    cells: countsOf(group, weeks).map((count) => (count ? formatNumber(count) : '')),
  }));
  return (
    <WeekTable
      name={`${texts.sections.crashes}, ${texts.crashTable}`}
      head={texts.label}
      weeks={weeks}
      rows={rows}
    />
  );
}
