import { Button } from '../../shared/forms/button.js';
import { t } from '../../shared/texts/text.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { useDecisionMails } from '../queues/decision-mails.js';
import { RowActions } from '../queues/row-actions.js';
import { isPending, useRowStates } from '../queues/row-states.js';
import { SelectableMachine, SelectionBar, useSelection } from '../queues/selection.js';
import type { Activation } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import {
  ACTIVATED_COLUMN,
  ENDED_COLUMN,
  idColumn,
  MACHINE_COLUMN,
  ROWS_SHOWN_AT_FIRST,
  VERSION_COLUMN,
} from './machine-columns.js';

const texts = messages.machines;

interface Props {
  readonly rows: readonly Activation[];
  /** Whether a filter limits the rows. */
  readonly isFiltered: boolean;
  /** The name of a machine among all those of the license. */
  readonly nameOf: (activation: Activation) => string;
  readonly searched: string;
  /** The ids of the activations with a release request that is not decided yet. */
  readonly requestedIds: ReadonlySet<string>;
  readonly changed: readonly string[];
  readonly onRelease: (activations: readonly Activation[]) => void;
}

/** The machines on which a license is active; they can be released one by one, or several together. */
export function MachinesInUse({
  rows,
  isFiltered,
  nameOf,
  searched,
  requestedIds,
  changed,
  onRelease,
}: Props) {
  const { shown, showAllButton } = useFirstRows(rows, ROWS_SHOWN_AT_FIRST);
  const states = useRowStates();
  // The dialog shows the mails. They are loaded before it opens.
  useDecisionMails();
  const selection = useSelection(
    shown.flatMap(({ id, state }) => (state === 'active' && !isPending(states.get(id)) ? [id] : [])),
  );
  if (rows.length === 0) return isFiltered ? null : <p>{texts.none}</p>;
  const isSelectable = rows.length > 1;
  const machineColumn: Column<Activation> = {
    ...MACHINE_COLUMN,
    rowName: nameOf,
    cell: (activation) => (
      <SelectableMachine
        id={activation.id}
        activation={activation}
        selection={isSelectable ? selection : undefined}
      >
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
              label={t(texts.releaseLabel, { machine: nameOf(activation) })}
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
    <div class="selectable-table">
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
      {isSelectable && <p class="quiet small keyboard-hint">{texts.keyboardHint}</p>}
    </div>
  );
}
