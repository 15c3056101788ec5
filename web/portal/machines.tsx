import type { ComponentChildren } from 'preact';
import { plural } from '../shared/dates.js';
import type { HolderActivation, HolderLicense } from '../shared/api-types.js';
import { ActiveRow, EndedRow } from './machine-row.js';
import { isThisMachine } from './this-machine.js';
import { messages } from './messages.js';

const texts = messages.machines;
/** More of those that ended would push what matters off the page. */
const SHOWN_ENDED = 5;

export function Machines({ license }: { license: HolderLicense }) {
  const ofState = (ended: boolean) =>
    license.activations
      .filter(({ state }) => (state !== 'active') === ended)
      .toSorted((a, b) => Number(isThisMachine(b)) - Number(isThisMachine(a)));
  const [active, ended] = [ofState(false), ofState(true)];
  return (
    <>
      {active.length === 0 && <p>{ended.length > 0 ? texts.noneNow : texts.none}</p>}
      {active.length > 0 && (
        <MachineTable
          caption={texts.caption}
          columns={[texts.machine, texts.activated, texts.version, texts.state]}
          rows={active.map((activation) => (
            <ActiveRow
              key={activation.id}
              activation={activation}
              releasesLeft={license.self_releases_left}
            />
          ))}
        />
      )}
      {ended.length > 0 && <Ended activations={ended} />}
    </>
  );
}

function Ended({ activations }: { activations: readonly HolderActivation[] }) {
  const table = (
    <MachineTable
      ended
      caption={texts.captionEnded}
      columns={[texts.machine, texts.activated, texts.version, texts.endedColumn]}
      rows={activations.map((activation) => (
        <EndedRow key={activation.id} activation={activation} />
      ))}
    />
  );
  if (activations.length <= SHOWN_ENDED) return table;
  return (
    <details open={activations.some(isThisMachine)}>
      <summary>{plural(activations.length, texts.ended)}</summary>
      {table}
    </details>
  );
}

interface TableProps {
  readonly ended?: boolean;
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: ComponentChildren;
}

// The roles are explicit, because a table that is laid out as blocks (on a narrow screen) loses them.
function MachineTable({ ended = false, caption, columns, rows }: TableProps) {
  return (
    <table class={`machines stacked ${ended ? 'ended' : ''}`} role="table">
      <caption>{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column} scope="col" role="columnheader">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{rows}</tbody>
    </table>
  );
}
