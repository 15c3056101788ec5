import { useEffect, useState } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { day, plural } from '../../shared/dates.js';
import { ExactTime } from '../../shared/exact-time.js';
import { Field } from '../../shared/field.js';
import { t } from '../../shared/text.js';
import { Machine, machineText } from '../parts/machine.js';
import { Copyable } from '../parts/copyable.js';
import { rowId, Table, type Column } from '../parts/table.js';
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
  cell: ({ activated_at }) => <ExactTime at={activated_at} />,
};
const VERSION: Column<Activation> = { name: texts.version, cell: ({ app_version }) => app_version };
const idColumn = (searched: string): Column<Activation> => ({
  name: texts.id,
  cell: ({ id }) => (
    <>
      <Copyable class="mono small" text={id} what={messages.find.kinds.activation_id} />{' '}
      {id === searched && <span class="tag">{texts.searched}</span>}
    </>
  ),
});
const ENDED: Column<Activation> = {
  name: texts.ended,
  cell: ({ state, ended_at }) =>
    t(texts.endedOn, { state: texts.states[state], day: ended_at ? day(ended_at) : '' }),
};

interface Props {
  readonly license: LicenseDetail;
  /** The id of the activation that is listed first, marked and focused; empty for none. */
  readonly searched: string;
  readonly changed: string | undefined;
  readonly onRelease: (activation: Activation) => void;
}

/** Where the license is in use, and where it was. */
export function Machines({ license, searched, changed, onRelease }: Props) {
  const [sought, setSought] = useState('');
  useEffect(() => {
    if (!searched) return;
    const row = [searched, endedId(searched)].map((id) => document.getElementById(rowId(id))).find(Boolean);
    moveFocus(row ?? null);
  }, []);
  const { activations, release_requests } = license;
  const asked = new Set(
    release_requests.flatMap(({ decision, activation_id }) => (decision === null ? [activation_id] : [])),
  );
  const matching = activations
    .filter((activation) => matches(activation, sought))
    .toSorted((a, b) => Number(b.id === searched) - Number(a.id === searched) || newestFirst(a, b));
  const ended = matching.filter(({ state }) => state !== 'active');
  // What has ended just now stays where it was, so that the eye and the focus find it.
  const active = matching.filter(({ id, state }) => state === 'active' || id === changed);
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
        <InUse rows={active} searched={searched} asked={asked} changed={changed} onRelease={onRelease} />
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
  readonly asked: ReadonlySet<string>;
};

function InUse({ rows, searched, asked, changed, onRelease }: InUseProps) {
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
        columns={[MACHINE, ACTIVATED, VERSION, idColumn(searched), state]}
        rows={shown}
        idOf={({ id }) => id}
        changed={changed ?? searched}
      />
      {more}
    </>
  );
}

interface EndedProps {
  readonly rows: readonly Activation[];
  readonly searched: string;
  readonly isOpen: boolean;
}

function Ended({ rows, searched, isOpen }: EndedProps) {
  const { shown, more } = useFew(rows, FEW);
  return (
    <details open={isOpen}>
      <summary>{plural(rows.length, texts.endedTitle)}</summary>
      <div class="flow">
        <Table
          caption={texts.endedCaption}
          columns={[MACHINE, ACTIVATED, VERSION, idColumn(searched), ENDED]}
          rows={shown}
          idOf={({ id }) => endedId(id)}
          changed={endedId(searched)}
        />
        {more}
      </div>
    </details>
  );
}

// An activation that has just ended is in both tables.
const endedId = (id: string) => `ended-${id}`;

const newestFirst = (a: Activation, b: Activation) =>
  b.activated_at.localeCompare(a.activated_at) || b.id.localeCompare(a.id);

function matches({ id, hostname_hint }: Activation, sought: string): boolean {
  const wanted = sought.trim().toLowerCase();
  return machineText(hostname_hint).toLowerCase().includes(wanted) || id === wanted;
}
