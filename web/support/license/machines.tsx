import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { day, plural } from '../../shared/dates.js';
import { Field } from '../../shared/field.js';
import { t } from '../../shared/text.js';
import { Machine, machineText } from '../parts/machine.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import type { Activation } from '../../shared/api-types.js';
import type { LicenseDetail } from '../types.js';
import { messages } from '../messages.js';

const FEW = 25;
const texts = messages.machines;

const MACHINE: Column<Activation> = {
  name: texts.machine,
  head: true,
  cell: ({ hostname_hint }) => <Machine name={hostname_hint} />,
};
const ACTIVATED: Column<Activation> = {
  name: texts.activated,
  cell: ({ activated_at }) => <time dateTime={activated_at}>{day(activated_at)}</time>,
};
const VERSION: Column<Activation> = { name: texts.version, cell: ({ app_version }) => app_version };
const ID: Column<Activation> = {
  name: texts.id,
  cell: ({ id }) => <span class="mono small">{id}</span>,
};
const ENDED: Column<Activation> = {
  name: texts.ended,
  cell: ({ state, ended_at }) =>
    t(texts.endedOn, { state: texts.states[state], day: ended_at ? day(ended_at) : '' }),
};

interface Props {
  readonly license: LicenseDetail;
  readonly changed: string | undefined;
  readonly onRelease: (activation: Activation) => void;
}

/** Where the license is in use, and where it was. */
export function Machines({ license, changed, onRelease }: Props) {
  const [sought, setSought] = useState('');
  const { activations, release_requests } = license;
  const asked = new Set(
    release_requests.flatMap(({ decision, activation_id }) => (decision === null ? [activation_id] : [])),
  );
  const matching = activations.filter((activation) => matches(activation, sought));
  const ended = matching.filter(({ state }) => state !== 'active');
  // What has ended just now stays where it was, so that the eye and the focus find it.
  const active = matching
    .filter(({ id, state }) => state === 'active' || id === changed)
    .toSorted(newestFirst);
  return (
    <section class="flow" aria-labelledby="machines">
      <h2 id="machines">{texts.title}</h2>
      {activations.length > FEW && (
        <div class="narrow">
          <Field
            label={texts.filter}
            name="filter"
            value={sought}
            onValue={setSought}
            input={{ type: 'search', autocomplete: 'off', spellcheck: false }}
          />
        </div>
      )}
      {/* In the page from the start, or it is not heard. */}
      <p class="unseen" role="status">
        {sought.trim() && matching.length > 0 && plural(matching.length, texts.filtered)}
      </p>
      {sought.trim() && active.length === 0 ? (
        <p role="status">{matching.length === 0 ? texts.filterNone : texts.filterNoneInUse}</p>
      ) : (
        <InUse rows={active} asked={asked} changed={changed} onRelease={onRelease} />
      )}
      {ended.length > 0 && <Ended rows={ended} isOpen={active.length === 0} />}
      <p class="quiet small">{texts.lastSeen}</p>
    </section>
  );
}

type InUseProps = Pick<Props, 'changed' | 'onRelease'> & {
  readonly rows: readonly Activation[];
  readonly asked: ReadonlySet<string>;
};

function InUse({ rows, asked, changed, onRelease }: InUseProps) {
  const { shown, more } = useFew(rows, FEW);
  if (rows.length === 0) return <p>{texts.none}</p>;
  const state: Column<Activation> = {
    name: texts.actions,
    plain: true,
    cell: (activation) =>
      activation.state !== 'active' ? (
        <strong>{ENDED.cell(activation)}</strong>
      ) : (
        <span class="row-actions">
          {asked.has(activation.id) && <span class="tag warning">{texts.asked}</span>}
          <Button
            label={t(texts.releaseLabel, { machine: machineText(activation.hostname_hint) })}
            onClick={() => onRelease(activation)}
          >
            {texts.release}
          </Button>
        </span>
      ),
  };
  return (
    <>
      <Table
        caption={texts.caption}
        columns={[MACHINE, ACTIVATED, VERSION, ID, state]}
        rows={shown}
        idOf={({ id }) => id}
        changed={changed}
      />
      {more}
    </>
  );
}

function Ended({ rows, isOpen }: { rows: readonly Activation[]; isOpen: boolean }) {
  const { shown, more } = useFew(rows, FEW);
  return (
    <details open={isOpen}>
      <summary>{plural(rows.length, texts.endedTitle)}</summary>
      <div class="flow">
        <Table
          caption={texts.endedCaption}
          columns={[MACHINE, ACTIVATED, VERSION, ID, ENDED]}
          rows={shown}
          idOf={({ id }) => `ended-${id}`}
        />
        {more}
      </div>
    </details>
  );
}

const newestFirst = (a: Activation, b: Activation) =>
  b.activated_at.localeCompare(a.activated_at) || b.id.localeCompare(a.id);

function matches({ id, hostname_hint }: Activation, sought: string): boolean {
  const wanted = sought.trim().toLowerCase();
  return machineText(hostname_hint).toLowerCase().includes(wanted) || id === wanted;
}
