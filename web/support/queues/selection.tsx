import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Activation } from '../../../src/http/responses/api-types.js';
import { Button } from '../../shared/forms/button.js';
import { plural } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { machineText, shortId } from '../parts/machine.js';

const texts = messages.selection;

/** The ids of the rows that can be selected, and of the selected rows: those of activations, or of release requests. */
interface Selection {
  readonly selectable: readonly string[];
  readonly selected: readonly string[];
  readonly toggle: (id: string) => void;
  readonly toggleAll: () => void;
}

/**
 * @param selectable the rows that are shown and can be selected now. The choice of a row is kept while the row cannot
 * be selected, so that a row whose release fails or is undone is selected again.
 */
export function useSelection(selectable: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selected = selectable.filter((id) => chosen.has(id));
  const isAllSelected = selected.length === selectable.length;
  return {
    selectable,
    selected,
    toggle: (id) => setChosen(chosen.has(id) ? without(chosen, [id]) : new Set([...chosen, id])),
    toggleAll: () =>
      setChosen(isAllSelected ? without(chosen, selectable) : new Set([...chosen, ...selectable])),
  };
}

const without = (ids: ReadonlySet<string>, removed: readonly string[]) =>
  new Set([...ids].filter((id) => !removed.includes(id)));

interface SelectionBarProps {
  readonly selection: Selection;
  /** Actions on all selected rows, with the keys that they have together with Shift. */
  readonly actions: readonly { readonly key: string; readonly text: string; readonly onClick: () => void }[];
}

/** Selects all rows that are shown, and acts on those that are selected. */
export function SelectionBar({ selection, actions }: SelectionBarProps) {
  const { selectable, selected, toggleAll } = selection;
  return (
    <div class="selection-bar" role="group" aria-label={texts.label}>
      <label class="check">
        <input
          type="checkbox"
          checked={selected.length > 0 && selected.length === selectable.length}
          indeterminate={selected.length > 0 && selected.length < selectable.length}
          disabled={selectable.length === 0}
          onChange={toggleAll}
        />
        {texts.all}
      </label>
      <span class="row-actions">
        {actions.map(({ key, text, onClick }) => (
          <span key={key} data-key={key}>
            <Button isBlocked={selected.length === 0} onClick={onClick}>
              {text}
            </Button>
          </span>
        ))}
      </span>
      <span class="quiet" role="status">
        {selected.length > 0 && plural(selected.length, texts.selected)}
      </span>
    </div>
  );
}

interface SelectableMachineProps {
  /** The id of the row. */
  readonly id: string;
  readonly activation: Activation;
  /** Undefined if the rows cannot be selected. */
  readonly selection: Selection | undefined;
  readonly children: ComponentChildren;
}

/** A machine, and the checkbox that selects its row, also with the key X. */
export function SelectableMachine({ id, activation, selection, children }: SelectableMachineProps) {
  if (!selection) return <>{children}</>;
  const machine = machineText(activation.hostname_hint);
  return (
    <span class="selectable-cell">
      <span class="check" data-key="x">
        <input
          type="checkbox"
          checked={selection.selected.includes(id)}
          disabled={!selection.selectable.includes(id)}
          aria-label={t(texts.row, { machine, id: shortId(activation.id) })}
          onChange={() => selection.toggle(id)}
        />
      </span>
      {children}
    </span>
  );
}
