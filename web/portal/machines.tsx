import { useRef, useState } from 'preact/hooks';
import { plural } from '../shared/dates/dates.js';
import { Field } from '../shared/forms/field.js';
import { StackedTable } from '../shared/tables/stacked-table.js';
import type { HolderActivation, HolderLicense } from '../../src/http/responses/api-types.js';
import { isEnded, isUsable } from './holder.js';
import { ActiveRow, EndedRow } from './machine-row.js';
import { hasPlaceForWaitingMachine } from './release-link.js';
import { isThisMachine } from './this-machine.js';
import { messages } from './messages.js';

/** With more ended activations, their table is collapsed, so that the machines in use stay in view. */
const MAX_ENDED_SHOWN = 5;
/** With more machines in use, a filter is shown. */
const MAX_WITHOUT_FILTER = 10;

export function Machines({ license }: { license: HolderLicense }) {
  const activationsWith = (hasEnded: boolean) =>
    license.activations
      .filter(({ state }) => (state !== 'active') === hasEnded)
      .toSorted((a, b) => Number(isThisMachine(b)) - Number(isThisMachine(a)));
  const [active, ended] = [activationsWith(false), activationsWith(true)];
  const [filter, setFilter] = useState('');
  // Once it is shown, the filter stays: a person who types in it would lose the focus if it was removed.
  const hasFilter = useRef(false);
  hasFilter.current ||= active.length > MAX_WITHOUT_FILTER;
  // Labels are stored in NFC. A copied text may have a letter and its accent as two characters.
  const text = filter.normalize().trim().toLowerCase();
  // The machine for which the page was opened stays in view, also if the filter does not find it.
  const isFound = (activation: HolderActivation) => isThisMachine(activation) || matches(activation, text);
  const found = active.filter(isFound);
  return (
    <>
      {hasFilter.current && (
        <div class="filter">
          <Field
            label={messages.machines.filter}
            name="filter"
            value={filter}
            onValue={setFilter}
            input={{ type: 'search', autocomplete: 'off', spellcheck: false }}
          />
          <p class="unseen" role="status">
            {filter.trim() && plural(found.length, messages.machines.filtered)}
          </p>
        </div>
      )}
      {active.length > 0 && found.length === 0 && <p class="screen-only">{messages.machines.filterNone}</p>}
      {active.length === 0 && isUsable(license) && !hasPlaceForWaitingMachine(license) && (
        <p>{ended.length > 0 ? messages.machines.noneNow : messages.machines.none}</p>
      )}
      {active.length > 0 && (
        // The printed sheet has all machines, also those that the filter does not find.
        <StackedTable
          class={`machines ${found.length === 0 ? 'unfound' : ''}`}
          caption={messages.machines.caption}
          columns={[{ name: messages.machines.machine }, { name: messages.machines.state }]}
        >
          {active.map((activation) => (
            <ActiveRow
              key={activation.id}
              activation={activation}
              isFound={isFound(activation)}
              releasesLeft={license.self_releases_left}
              isReleasable={!isEnded(license)}
            />
          ))}
        </StackedTable>
      )}
      {ended.length > 0 && <Ended activations={ended} />}
    </>
  );
}

const matches = ({ hostname_hint, app_version, id }: HolderActivation, filter: string) =>
  (hostname_hint?.trim() || messages.machines.unnamed).toLowerCase().includes(filter) ||
  app_version.includes(filter) ||
  id.endsWith(filter.replace('…', ''));

function Ended({ activations }: { activations: readonly HolderActivation[] }) {
  const table = (
    <StackedTable
      class="machines ended"
      caption={messages.machines.captionEnded}
      columns={[{ name: messages.machines.machine }, { name: messages.machines.endedColumn }]}
    >
      {activations.map((activation) => (
        <EndedRow key={activation.id} activation={activation} />
      ))}
    </StackedTable>
  );
  if (activations.length <= MAX_ENDED_SHOWN) return table;
  return (
    <details>
      <summary>{plural(activations.length, messages.machines.ended)}</summary>
      {table}
    </details>
  );
}
