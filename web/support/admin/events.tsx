import { shortMoment } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { Person } from '../parts/person.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import { hrefOf } from '../route.js';
import type { AuditEvent } from '../types.js';
import { words } from '../words.js';
import { changeText } from './event-change.js';

const FEW = 25;
const say = words.history;
const NO_NAMES: ReadonlyMap<string, string> = new Map();

interface Props {
  readonly events: readonly AuditEvent[];
  readonly caption: string;
  /** What is known of the ids that they name. */
  readonly names?: ReadonlyMap<string, string>;
  /** Where they are of many licenses, each leads to its own. */
  readonly withLicense?: boolean;
}

const LICENSE: Column<AuditEvent> = {
  name: words.audit.license,
  cell: ({ license_id }) =>
    license_id ? (
      <a href={hrefOf('license', license_id)} aria-label={words.audit.openLabel}>
        {words.audit.open}
      </a>
    ) : (
      say.noReason
    ),
};

/** Entries of the audit trail: who, what, why, when. */
export function Events({ events, caption, names = NO_NAMES, withLicense = false }: Props) {
  const { shown, more } = useFew(events, FEW);
  const columns: Column<AuditEvent>[] = [
    { name: say.when, cell: ({ at }) => <time dateTime={at}>{shortMoment(at)}</time> },
    { name: say.what, head: true, cell: (event) => <What event={event} names={names} /> },
    { name: say.who, cell: ({ actor }) => <Person email={actor} /> },
    {
      name: say.why,
      cell: ({ reason }) => (reason ? <Stranger text={reason} /> : <span class="quiet">{say.noReason}</span>),
    },
    ...(withLicense ? [LICENSE] : []),
  ];
  return (
    <>
      <Table caption={caption} columns={columns} rows={shown} idOf={({ id }) => id} />
      {more}
    </>
  );
}

function What({ event, names }: { event: AuditEvent; names: ReadonlyMap<string, string> }) {
  const change = changeText(event, names);
  return (
    <>
      {say.actions[event.action] ?? event.action}
      {change && (
        <span class="quiet change">
          <Stranger text={change} />
        </span>
      )}
    </>
  );
}
