import { useState } from 'preact/hooks';
import { MAX_SHOWN_CRASH_GROUPS } from '../../../src/telemetry/max-shown-crash-groups.js';
import { Choice } from '../../shared/forms/choice.js';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { Loaded } from '../parts/loaded.js';
import { focusRow, showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import type { CrashGroup, CrashGroupListAnswer } from '../../../src/http/responses/api-types.js';
import { crashName } from './crash-name.js';
import { CrashState } from './crash-state.js';
import { CrashStateDialog } from './crash-state-dialog.js';
import { Section } from './section.js';
import { Spark } from './spark.js';
import { WeekTable } from './week-table.js';

const ROWS_SHOWN_AT_FIRST = 20;
const texts = messages.fleet;

export type State = CrashGroup['state'];
const FILTERS: Readonly<Record<State, string>> = {
  open: texts.crashStates.open.name,
  resolved: texts.crashStates.resolved.name,
  muted: texts.crashStates.muted.name,
};

/** A change that is being confirmed. */
interface Change {
  readonly group: CrashGroup;
  readonly state: State;
  /** The id of the row that gets the focus once the group has left the list; empty if there is no other. */
  readonly next: string;
}

export interface CrashesProps {
  /** The number of weeks in the request. */
  readonly weekCount: string;
  /** The last days of the shown weeks, newest first. */
  readonly weeks: readonly string[];
  /** The state whose groups are listed. */
  readonly state: State;
  readonly onState: (state: State) => void;
}

/** The groups of equal crashes. A group shows where in the code the application crashed, but not on which machines. */
export function Crashes({ weekCount, weeks, state, onState }: CrashesProps) {
  const [change, setChange] = useState<Change>();
  const load = useLoad<CrashGroupListAnswer>(`fleet/crash-groups?weeks=${weekCount}&state=${state}`);
  const groups = load.data?.crash_groups ?? [];
  const { shown, showAllButton } = useFirstRows(groups, ROWS_SHOWN_AT_FIRST);
  function startChange(group: CrashGroup, newState: State) {
    const index = groups.indexOf(group);
    const next = groups[index + 1] ?? groups[index - 1];
    setChange({ group, state: newState, next: next?.crash_sig ?? '' });
  }
  function handleClosed({ group, next }: Change) {
    setChange(undefined);
    // The list may have been loaded again since the dialog opened. The button that opened it is then gone.
    if (!groups.some(({ crash_sig }) => crash_sig === group.crash_sig)) focusRow(next);
  }
  async function handleChanged({ group, state: newState, next }: Change) {
    setChange(undefined);
    load.set({ crash_groups: groups.filter(({ crash_sig }) => crash_sig !== group.crash_sig) });
    // The next group gets the focus, so that the list can be worked through by keyboard.
    showChange(t(texts.crashStates[newState].done, { crash: crashName(group) }), next);
    await load.reload();
  }
  const columns: readonly Column<CrashGroup>[] = [
    ...COLUMNS,
    { name: texts.trend, cell: (group) => <Spark counts={countsOf(group, weeks)} /> },
    {
      name: texts.crashState,
      cell: (group) => <CrashState group={group} onChange={(newState) => startChange(group, newState)} />,
    },
  ];
  return (
    <Section
      title={texts.sections.crashes}
      note={texts.crashNote}
      table={shown.length > 0 ? () => <CrashTable groups={shown} weeks={weeks} /> : undefined}
    >
      <div class="narrow">
        <Choice label={texts.crashFilter} name="state" value={state} options={FILTERS} onValue={onState} />
        <p class="unseen" role="status">
          {load.data && plural(groups.length, texts.crashFound)}
        </p>
      </div>
      <Loaded load={load} loadingText={texts.crashWaiting}>
        {() =>
          groups.length === 0 ? (
            <p>{texts.crashStates[state].none}</p>
          ) : (
            <Table
              caption={captionOf(groups.length)}
              columns={columns}
              rows={shown}
              idOf={({ crash_sig }) => crash_sig}
            />
          )
        }
      </Loaded>
      {showAllButton}
      {change && (
        <CrashStateDialog
          {...change}
          onClose={() => handleClosed(change)}
          onConflict={load.reload}
          onDone={() => void handleChanged(change)}
        />
      )}
    </Section>
  );
}

const captionOf = (count: number) =>
  count < MAX_SHOWN_CRASH_GROUPS
    ? plural(count, texts.crashCaption)
    : t(texts.crashCaptionAtLimit, { count: formatNumber(count) });

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
  {
    name: texts.versions,
    cell: ({ first_version, last_version }) => (
      <UntrustedText text={rangeText(first_version, last_version)} />
    ),
  },
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

interface CrashTableProps {
  readonly groups: readonly CrashGroup[];
  readonly weeks: readonly string[];
}

function CrashTable({ groups, weeks }: CrashTableProps) {
  const rows = groups.map((group) => ({
    key: group.crash_sig,
    label: crashName(group),
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
