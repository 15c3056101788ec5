import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { day, shortMoment, plural, utcDay } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import { ViewTitle } from '../parts/view-title.js';
import type { Erasure, ErasureListAnswer } from '../../shared/api-types.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import { RunDialog } from './run-dialog.js';

const FEW = 50;
const SOON_DAYS = 5;
const texts = messages.erasures;

const EMAIL: Column<Erasure> = {
  name: texts.email,
  head: true,
  cell: ({ email }) =>
    email ? <UntrustedText text={email} /> : <span class="quiet">{messages.find.erased}</span>,
};
const ASKED_BY: Column<Erasure> = {
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
const RECEIVED: Column<Erasure> = { name: texts.received, cell: ({ received_on }) => utcDay(received_on) };
const LEFT: Column<Erasure> = {
  name: texts.left,
  cell: ({ days_left }) => <DaysLeft days={days_left ?? 0} />,
};
const RUNS: Column<Erasure> = { name: texts.runs, cell: ({ runs_at }) => shortMoment(runs_at) };
const ENDED: readonly Column<Erasure>[] = [
  {
    name: texts.ended,
    head: true,
    cell: ({ honoured_at, cancelled_at }) => day((honoured_at ?? cancelled_at)!),
  },
  { name: texts.state, cell: ({ state }) => texts.states[state] },
  ASKED_BY,
  RECEIVED,
];

interface Props {
  readonly load: Load<ErasureListAnswer>;
  readonly isAdmin: boolean;
}

/** Who asked to be deleted, by days left. */
export function ErasuresView({ load, isAdmin }: Props) {
  const [running, setRunning] = useState<Erasure>();
  const [done, setDone] = useState<Erasure>();
  const run: Column<Erasure> = {
    name: texts.actions,
    plain: true,
    cell: (erasure) => (
      <Button
        kind="harm"
        label={t(texts.runLabel, { email: erasure.email ?? '' })}
        onClick={() => setRunning(erasure)}
      >
        {texts.run}
      </Button>
    ),
  };
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet">{texts.lead}</p>
      <Loaded load={load} waiting={texts.waiting}>
        {({ erasures }) => (
          <Both
            erasures={erasures}
            columns={[EMAIL, ASKED_BY, RECEIVED, LEFT, RUNS, ...(isAdmin ? [run] : [])]}
            done={done?.id}
          />
        )}
      </Loaded>
      {running && (
        <RunDialog
          erasure={running}
          onClose={() => setRunning(undefined)}
          onDone={(ended) => {
            setRunning(undefined);
            setDone(ended);
            void load.reload().then(() => showChange(outcome(ended), ended.id));
          }}
        />
      )}
    </div>
  );
}

const outcome = ({ state }: Erasure) => (state === 'honoured' ? texts.done : texts.meanwhileTakenBack);

interface BothProps {
  readonly erasures: readonly Erasure[];
  readonly columns: readonly Column<Erasure>[];
  readonly done: string | undefined;
}

function Both({ erasures, columns, done }: BothProps) {
  const waiting = erasures
    .filter(({ state }) => state === 'waiting')
    .toSorted((a, b) => (a.days_left ?? 0) - (b.days_left ?? 0));
  const ended = erasures.filter(({ state }) => state !== 'waiting');
  const few = useFew(ended, FEW);
  const idOf = ({ id }: Erasure) => id;
  return (
    <>
      {waiting.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <Table caption={plural(waiting.length, texts.caption)} columns={columns} rows={waiting} idOf={idOf} />
      )}
      {ended.length > 0 && (
        <details open={done !== undefined}>
          <summary>{plural(ended.length, texts.endedTitle)}</summary>
          <div class="flow">
            <Table caption={texts.endedCaption} columns={ENDED} rows={few.shown} idOf={idOf} changed={done} />
            {few.more}
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
  return days <= SOON_DAYS ? <span class="tag warning">{text}</span> : <>{text}</>;
}
