import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { day, shortMoment, plural, utcDay } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { Notice } from '../../shared/notice.js';
import { Loaded } from '../parts/loaded.js';
import { say as put } from '../../shared/say.js';
import { showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import { ViewTitle } from '../parts/view-title.js';
import type { Erasure } from '../types.js';
import type { Load } from '../use-load.js';
import { words } from '../words.js';
import { RunDialog } from './run-dialog.js';

const FEW = 50;
const SOON_DAYS = 5;
const say = words.erasures;

const EMAIL: Column<Erasure> = {
  name: say.email,
  head: true,
  cell: ({ email }) => (email ? <Stranger text={email} /> : <span class="quiet">{words.find.erased}</span>),
};
const ASKED_BY: Column<Erasure> = {
  name: say.askedBy,
  cell: ({ asked_by, reason }) => (
    <>
      {say.by[asked_by]}
      {reason && (
        <span class="quiet">
          : <Stranger text={reason} />
        </span>
      )}
    </>
  ),
};
const RECEIVED: Column<Erasure> = { name: say.received, cell: ({ received_on }) => utcDay(received_on) };
const LEFT: Column<Erasure> = { name: say.left, cell: ({ days_left }) => <DaysLeft days={days_left ?? 0} /> };
const RUNS: Column<Erasure> = { name: say.runs, cell: ({ runs_at }) => shortMoment(runs_at) };
const ENDED: readonly Column<Erasure>[] = [
  {
    name: say.ended,
    head: true,
    cell: ({ honoured_at, cancelled_at }) => day((honoured_at ?? cancelled_at)!),
  },
  { name: say.state, cell: ({ state }) => say.states[state] },
  ASKED_BY,
  RECEIVED,
];

interface Props {
  readonly load: Load<{ erasures: readonly Erasure[] }>;
  readonly isAdmin: boolean;
}

/** Who asked to be deleted, by days left. */
export function ErasuresView({ load, isAdmin }: Props) {
  const [running, setRunning] = useState<Erasure>();
  const [done, setDone] = useState<Erasure>();
  const run: Column<Erasure> = {
    name: say.actions,
    plain: true,
    cell: (erasure) => (
      <Button
        kind="harm"
        label={put(say.runLabel, { email: erasure.email ?? '' })}
        onClick={() => setRunning(erasure)}
      >
        {say.run}
      </Button>
    ),
  };
  return (
    <div class="flow">
      <ViewTitle>{say.title}</ViewTitle>
      <p class="quiet">{say.lead}</p>
      {done && <Notice kind={done.state === 'honoured' ? 'good' : 'warning'}>{outcome(done)}</Notice>}
      <Loaded load={load} waiting={say.waiting}>
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

const outcome = ({ state }: Erasure) => (state === 'honoured' ? say.done : say.meanwhileTakenBack);

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
        <p>{say.none}</p>
      ) : (
        <Table caption={plural(waiting.length, say.caption)} columns={columns} rows={waiting} idOf={idOf} />
      )}
      {ended.length > 0 && (
        <details open={done !== undefined}>
          <summary>{plural(ended.length, say.endedTitle)}</summary>
          <div class="flow">
            <Table caption={say.endedCaption} columns={ENDED} rows={few.shown} idOf={idOf} changed={done} />
            {few.more}
          </div>
        </details>
      )}
    </>
  );
}

function DaysLeft({ days }: { days: number }) {
  if (days < 0) return <span class="tag danger">{plural(-days, say.overdue)}</span>;
  if (days === 0) return <span class="tag danger">{say.today}</span>;
  const text = plural(days, say.daysLeft);
  return days <= SOON_DAYS ? <span class="tag warning">{text}</span> : <>{text}</>;
}
