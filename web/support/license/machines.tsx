import { useEffect, useState } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { formatDay, plural } from '../../shared/dates.js';
import { ExactTime } from '../../shared/exact-time.js';
import { Field } from '../../shared/field.js';
import { t } from '../../shared/text.js';
import { Machine, machineText } from '../parts/machine.js';
import { Copyable } from '../parts/copyable.js';
import { rowId, Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import type { Activation } from '../../shared/api-types.js';
import type { LicenseDetail } from '../types.js';
import { messages } from '../messages.js';
import { RowActions } from '../queues/row-actions.js';
import { isPending, useRowStates } from '../queues/row-states.js';
import { SelectableMachine, SelectionBar, useSelection } from '../queues/selection.js';

/** A license with more machines than this also gets a filter. */
const ROWS_SHOWN_AT_FIRST = 25;
const texts = messages.machines;

const MACHINE_COLUMN: Column<Activation> = {
  name: texts.machine,
  isRowHeader: true,
  cell: ({ hostname_hint }) => <Machine name={hostname_hint} />,
};
const ACTIVATED_COLUMN: Column<Activation> = {
  name: texts.activated,
  cell: ({ activated_at }) => <ExactTime at={activated_at} />,
};
const VERSION_COLUMN: Column<Activation> = { name: texts.version, cell: ({ app_version }) => app_version };
const idColumn = (searched: string): Column<Activation> => ({
  name: texts.id,
  cell: ({ id }) => (
    <>
      <Copyable class="mono small" text={id} what={messages.find.kinds.activation_id} />{' '}
      {id === searched && <span class="tag">{texts.searched}</span>}
    </>
  ),
});
const ENDED_COLUMN: Column<Activation> = {
  name: texts.ended,
  cell: ({ state, ended_at }) =>
    t(texts.endedOn, { state: texts.states[state], day: ended_at ? formatDay(ended_at) : '' }),
};

interface Props {
  readonly license: LicenseDetail;
  /** The id of the activation that is listed first, marked and focused; empty for none. */
  readonly searched: string;
  /** The ids of the activations that were released since the view was opened. */
  readonly changed: readonly string[];
  readonly onRelease: (activations: readonly Activation[]) => void;
}

/** The machines on which the license is active, and those on which it was. */
export function Machines({ license, searched, changed, onRelease }: Props) {
  const [filter, setFilter] = useState('');
  useEffect(() => {
    if (!searched) return;
    const row = [searched, endedId(searched)].map((id) => document.getElementById(rowId(id))).find(Boolean);
    moveFocus(row ?? null);
  }, []);
  const { activations, release_requests } = license;
  const requestedIds = new Set(
    release_requests.flatMap(({ decision, activation_id }) => (decision === null ? [activation_id] : [])),
  );
  const matching = activations
    .filter((activation) => matches(activation, filter))
    .toSorted((a, b) => Number(b.id === searched) - Number(a.id === searched) || newestFirst(a, b));
  const ended = matching.filter(({ state }) => state !== 'active');
  // An activation that has just ended stays among the active ones, where the person sees the change.
  const active = matching.filter(({ id, state }) => state === 'active' || changed.includes(id));
  return (
    <section class="flow" aria-labelledby="machines">
      <h2 id="machines">{texts.title}</h2>
      {activations.length > ROWS_SHOWN_AT_FIRST && (
        <div class="narrow">
          <Field
            label={texts.filter}
            name="filter"
            value={filter}
            onValue={setFilter}
            input={{ type: 'search', autocomplete: 'off', spellcheck: false }}
          />
        </div>
      )}
      {/* The element is always rendered, because screen readers announce changes of existing elements only. */}
      <p class="unseen" role="status">
        {filter.trim() && matching.length > 0 && plural(matching.length, texts.filtered)}
      </p>
      {filter.trim() && active.length === 0 ? (
        <p role="status">{matching.length === 0 ? texts.filterNone : texts.filterNoneInUse}</p>
      ) : (
        <InUse
          rows={active}
          searched={searched}
          requestedIds={requestedIds}
          changed={changed}
          onRelease={onRelease}
        />
      )}
      {ended.length > 0 && (
        <Ended rows={ended} searched={searched} isOpen={active.length === 0 || ended[0]!.id === searched} />
      )}
      <p class="quiet small">{texts.lastSeen}</p>
    </section>
  );
}

type InUseProps = Pick<Props, 'searched' | 'changed' | 'onRelease'> & {
  readonly rows: readonly Activation[];
  /** The ids of the activations whose release the holder has requested. */
  readonly requestedIds: ReadonlySet<string>;
};

function InUse({ rows, searched, requestedIds, changed, onRelease }: InUseProps) {
  const { shown, showAllButton } = useFirstRows(rows, ROWS_SHOWN_AT_FIRST);
  const states = useRowStates();
  const selection = useSelection(
    shown.flatMap(({ id, state }) => (state === 'active' && !isPending(states.get(id)) ? [id] : [])),
  );
  if (rows.length === 0) return <p>{texts.none}</p>;
  const isSelectable = rows.length > 1;
  const machineColumn: Column<Activation> = {
    ...MACHINE_COLUMN,
    rowName: ({ hostname_hint }) => machineText(hostname_hint),
    cell: (activation) => (
      <SelectableMachine activation={activation} selection={isSelectable ? selection : undefined}>
        {MACHINE_COLUMN.cell(activation)}
      </SelectableMachine>
    ),
  };
  const actionColumn: Column<Activation> = {
    name: texts.actions,
    hidesName: true,
    cell: (activation) =>
      activation.state !== 'active' ? (
        <strong>{ENDED_COLUMN.cell(activation)}</strong>
      ) : (
        <RowActions state={states.get(activation.id)}>
          {requestedIds.has(activation.id) && <span class="tag warning">{texts.asked}</span>}
          <span data-key="r">
            <Button
              label={t(texts.releaseLabel, { machine: machineText(activation.hostname_hint) })}
              onClick={() => onRelease([activation])}
            >
              {texts.release}
            </Button>
          </span>
        </RowActions>
      ),
  };
  const releaseSelected = () => onRelease(rows.filter(({ id }) => selection.selected.includes(id)));
  return (
    <div class="selectable">
      {isSelectable && (
        <SelectionBar
          selection={selection}
          actions={[{ key: 'R', text: messages.selection.release, onClick: releaseSelected }]}
        />
      )}
      <Table
        caption={texts.caption}
        columns={[machineColumn, ACTIVATED_COLUMN, VERSION_COLUMN, idColumn(searched), actionColumn]}
        rows={shown}
        idOf={({ id }) => id}
        changed={[searched, ...changed]}
        hasRowShortcuts
      />
      {showAllButton}
      {isSelectable && <p class="quiet small">{texts.keys}</p>}
    </div>
  );
}

interface EndedProps {
  readonly rows: readonly Activation[];
  readonly searched: string;
  readonly isOpen: boolean;
}

function Ended({ rows, searched, isOpen }: EndedProps) {
  const { shown, showAllButton } = useFirstRows(rows, ROWS_SHOWN_AT_FIRST);
  return (
    <details open={isOpen}>
      <summary>{plural(rows.length, texts.endedTitle)}</summary>
      <div class="flow">
        <Table
          caption={texts.endedCaption}
          columns={[MACHINE_COLUMN, ACTIVATED_COLUMN, VERSION_COLUMN, idColumn(searched), ENDED_COLUMN]}
          rows={shown}
          idOf={({ id }) => endedId(id)}
          changed={[endedId(searched)]}
        />
        {showAllButton}
      </div>
    </details>
  );
}

// An activation that has just ended is in both tables, so its two rows need different ids.
const endedId = (id: string) => `ended-${id}`;

const newestFirst = (a: Activation, b: Activation) =>
  b.activated_at.localeCompare(a.activated_at) || b.id.localeCompare(a.id);

function matches({ id, hostname_hint }: Activation, filter: string): boolean {
  const text = filter.trim().toLowerCase();
  return machineText(hostname_hint).toLowerCase().includes(text) || id === text;
}
