import { useState } from 'preact/hooks';
import { Button } from '../../shared/forms/button.js';
import { plural, formatUtcDay } from '../../shared/dates/dates.js';
import { ExactTime } from '../../shared/dates/exact-time.js';
import { RelativeTime } from '../parts/relative-time.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { Loaded } from '../parts/loaded.js';
import { EmailAddress } from '../parts/email-address.js';
import { showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { ViewTitle } from '../parts/view-title.js';
import type { Erasure, ErasureListAnswer } from '../../../src/http/responses/api-types.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import { listedCount } from './listed-count.js';
import { useRowShortcuts } from './row-keys.js';
import { RunDialog } from './run-dialog.js';

const ROWS_SHOWN_AT_FIRST = 50;
/** Requests with at most this many days left are highlighted. */
const URGENT_DAYS = 5;
const texts = messages.erasures;

const EMAIL_COLUMN: Column<Erasure> = {
  name: texts.email,
  isRowHeader: true,
  cell: ({ email }) =>
    email ? <EmailAddress email={email} /> : <span class="quiet">{messages.find.erased}</span>,
};
const ASKED_BY_COLUMN: Column<Erasure> = {
  name: texts.askedBy,
  cell: ({ asked_by, reason }) => (
    <>
      {texts.by[asked_by]}
      {reason && (
        <span class="quiet">
          : <UntrustedText text={reason} />
        </span>
      )}
    </>
  ),
};
const RECEIVED_COLUMN: Column<Erasure> = {
  name: texts.received,
  cell: ({ received_on }) => formatUtcDay(received_on),
};
/** The days until the legal deadline (`due_on`). The service carries the request out before, at `runs_at`. */
const DAYS_LEFT_COLUMN: Column<Erasure> = {
  name: texts.left,
  cell: ({ days_left }) => <DaysLeft days={days_left ?? 0} />,
};
const RUNS_COLUMN: Column<Erasure> = {
  name: texts.runs,
  cell: ({ runs_at }) => <RelativeTime at={runs_at} isPlanned />,
};
const ENDED_COLUMNS: readonly Column<Erasure>[] = [
  {
    name: texts.ended,
    isRowHeader: true,
    cell: ({ honoured_at, cancelled_at }) => <ExactTime at={(honoured_at ?? cancelled_at)!} />,
  },
  { name: texts.state, cell: ({ state }) => texts.states[state] },
  ASKED_BY_COLUMN,
  RECEIVED_COLUMN,
];

interface Props {
  readonly load: Load<ErasureListAnswer>;
  readonly isAdmin: boolean;
}

/** The waiting erasure requests, those with the fewest days left first, and below them the ended ones. */
export function ErasuresView({ load, isAdmin }: Props) {
  const [erasureToRun, setErasureToRun] = useState<Erasure>();
  const [justEnded, setJustEnded] = useState<Erasure>();
  useRowShortcuts();
  const runColumn: Column<Erasure> = {
    name: texts.actions,
    hidesName: true,
    cell: (erasure) => (
      <span data-key="r">
        <Button
          kind="harm"
          label={t(texts.runLabel, { email: erasure.email ?? '' })}
          onClick={() => setErasureToRun(erasure)}
        >
          {texts.run}
        </Button>
      </span>
    ),
  };
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet measure">{texts.lead}</p>
      <Loaded load={load} loadingText={texts.waiting}>
        {({ erasures }) => (
          <ErasureTables
            erasures={erasures}
            columns={[
              EMAIL_COLUMN,
              ASKED_BY_COLUMN,
              RECEIVED_COLUMN,
              DAYS_LEFT_COLUMN,
              RUNS_COLUMN,
              ...(isAdmin ? [runColumn] : []),
            ]}
            keyboardHint={isAdmin ? texts.adminKeyboardHint : texts.keyboardHint}
            justEndedId={justEnded?.id}
          />
        )}
      </Loaded>
      {erasureToRun && (
        <RunDialog
          erasure={erasureToRun}
          onClose={() => setErasureToRun(undefined)}
          onDone={(ended) => {
            setErasureToRun(undefined);
            setJustEnded(ended);
            void load.reload().then(() => showChange(outcomeText(ended), ended.id));
          }}
        />
      )}
    </div>
  );
}

const outcomeText = ({ state }: Erasure) => (state === 'honoured' ? texts.done : texts.meanwhileCancelled);

interface ErasureTablesProps {
  readonly erasures: readonly Erasure[];
  readonly columns: readonly Column<Erasure>[];
  /** Names the shortcuts of the rows. */
  readonly keyboardHint: string;
  readonly justEndedId: string | undefined;
}

function ErasureTables({ erasures, columns, keyboardHint, justEndedId }: ErasureTablesProps) {
  const waiting = erasures
    .filter(({ state }) => state === 'waiting')
    .toSorted((a, b) => (a.days_left ?? 0) - (b.days_left ?? 0));
  const ended = erasures.filter(({ state }) => state !== 'waiting');
  const { shown, showAllButton } = useFirstRows(ended, ROWS_SHOWN_AT_FIRST);
  const idOf = ({ id }: Erasure) => id;
  return (
    <>
      {waiting.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <>
          <Table
            caption={listedCount(waiting.length, waiting.length, texts.caption, texts.captionAtLimit)}
            columns={columns}
            rows={waiting}
            idOf={idOf}
            hasRowShortcuts
          />
          <p class="quiet small keyboard-hint">{keyboardHint}</p>
        </>
      )}
      {ended.length > 0 && (
        <details open={justEndedId !== undefined}>
          <summary>
            {listedCount(ended.length, erasures.length, texts.endedTitle, texts.endedTitleAtLimit)}
          </summary>
          <div class="flow">
            <Table
              caption={texts.endedCaption}
              columns={ENDED_COLUMNS}
              rows={shown}
              idOf={idOf}
              changed={[justEndedId]}
            />
            {showAllButton}
          </div>
        </details>
      )}
    </>
  );
}

function DaysLeft({ days }: { days: number }) {
  if (days < 0) return <span class="tag danger">{plural(-days, texts.overdue)}</span>;
  if (days === 0) return <span class="tag danger">{texts.today}</span>;
  const text = plural(days, texts.daysLeft);
  return days <= URGENT_DAYS ? <span class="tag warning">{text}</span> : <>{text}</>;
}
