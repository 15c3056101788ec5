import type { RetentionListAnswer, RetentionRun } from '../../../src/http/responses/api-types.js';
import { formatNumber, plural, formatUtcDay } from '../../shared/dates/dates.js';
import { formatShortTime } from '../parts/dates.js';
import { Loaded } from '../parts/loaded.js';
import { Table, type Column } from '../parts/table.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';

const texts = messages.service;

const COLUMNS: readonly Column<RetentionRun>[] = [
  { name: texts.asOf, isRowHeader: true, cell: ({ as_of }) => formatUtcDay(as_of) },
  { name: texts.started, cell: ({ started_at }) => formatShortTime(started_at) },
  { name: texts.took, cell: (run) => durationText(run) },
  { name: texts.result, cell: (run) => <Result run={run} /> },
  { name: texts.deleted, cell: ({ deleted }) => deletedText(deleted) },
];

export function Retention() {
  const load = useLoad<RetentionListAnswer>('retention');
  return (
    <section class="flow" aria-labelledby="retention">
      <h2 id="retention">{texts.retentionTitle}</h2>
      <Loaded load={load} loadingText={texts.retentionWaiting}>
        {({ runs }) =>
          runs.length === 0 ? (
            <p>{texts.retentionNone}</p>
          ) : (
            <Table caption={texts.retentionCaption} columns={COLUMNS} rows={runs} idOf={({ id }) => id} />
          )
        }
      </Loaded>
    </section>
  );
}

function durationText({ started_at, finished_at }: RetentionRun): string {
  if (finished_at === null) return texts.notFinished;
  return plural(Math.round((Date.parse(finished_at) - Date.parse(started_at)) / 1000), texts.seconds);
}

function Result({ run: { finished_at, error } }: { run: RetentionRun }) {
  if (error) return <span class="error">{error}</span>;
  if (finished_at === null) return <span class="tag warning">{texts.notFinished}</span>;
  return <>{texts.ok}</>;
}

function deletedText(deleted: RetentionRun['deleted']): string {
  const tables = Object.entries(deleted).filter(([, rows]) => rows > 0);
  return tables.length === 0
    ? texts.nothing
    : tables.map(([table, rows]) => `${table} ${formatNumber(rows)}`).join(', ');
}
