import { useEffect, useState } from 'preact/hooks';
import { moveFocus } from '../../shared/notices/announcer.js';
import { plural } from '../../shared/dates/dates.js';
import { Field } from '../../shared/forms/field.js';
import { Notice } from '../../shared/notices/notice.js';
import { machineNames, machineText } from '../parts/machine.js';
import { rowId, Table } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import type { Activation, LicenseDetail } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import {
  ACTIVATED_COLUMN,
  ENDED_COLUMN,
  idColumn,
  MACHINE_COLUMN,
  ROWS_SHOWN_AT_FIRST,
  VERSION_COLUMN,
} from './machine-columns.js';
import { MachinesInUse } from './machines-in-use.js';

const texts = messages.machines;
/** With more activations, including ended ones, a filter is shown. */
const MAX_WITHOUT_FILTER = 10;

interface Props {
  readonly license: LicenseDetail;
  /** The id of the activation that is listed first, marked and focused; empty for none. */
  readonly searched: string;
  /**
   * The ids of the activations about which staff decided here since the view was opened, also of those whose release
   * was declined or failed. Their rows are highlighted and stay in the list of the machines in use.
   */
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
  const isFiltered = filter.trim() !== '';
  const findsNoneInUse = isFiltered && active.length === 0;
  return (
    <section class="flow" aria-labelledby="machines">
      <h2 id="machines">{texts.title}</h2>
      {searched && !activations.some(({ id }) => id === searched) && (
        <Notice kind="warning">{texts.notFound}</Notice>
      )}
      {activations.length > MAX_WITHOUT_FILTER && (
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
      <p class={findsNoneInUse ? undefined : 'unseen'} role="status">
        {isFiltered && filterResult(matching.length, active.length)}
      </p>
      {/* Also rendered without rows, because it keeps the selection while a filter is typed. */}
      <MachinesInUse
        rows={active}
        isFiltered={isFiltered}
        nameOf={machineNames(activations)}
        searched={searched}
        requestedIds={requestedIds}
        changed={changed}
        onRelease={onRelease}
      />
      {ended.length > 0 && (
        <Ended rows={ended} searched={searched} isOpen={active.length === 0 || ended[0]!.id === searched} />
      )}
      <p class="quiet small">{texts.lastSeen}</p>
    </section>
  );
}

function filterResult(matchCount: number, activeCount: number): string {
  if (matchCount === 0) return texts.filterNone;
  return activeCount === 0 ? texts.filterNoneInUse : plural(matchCount, texts.filtered);
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
  // Labels are stored in NFC. A copied text may have a letter and its accent as two characters.
  const text = filter.normalize().trim().toLowerCase();
  // The page shows the end of an id after an ellipsis.
  return machineText(hostname_hint).toLowerCase().includes(text) || id.endsWith(text.replace('…', ''));
}
