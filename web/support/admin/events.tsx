import { shortMoment } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Person } from '../parts/person.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import { hrefOf } from '../route.js';
import type { AuditEvent } from '../../shared/api-types.js';
import { messages } from '../messages.js';
import { changeText } from './event-change.js';

const FEW = 25;
const texts = messages.history;
const NO_NAMES: ReadonlyMap<string, string> = new Map();

interface Props {
  readonly events: readonly AuditEvent[];
  readonly caption: string;
  /** The labels of ids in the entries. */
  readonly names?: ReadonlyMap<string, string>;
  /** Whether a column names the license or the person of each entry. */
  readonly withLicense?: boolean;
}

const LICENSE: Column<AuditEvent> = {
  name: messages.audit.license,
  cell: ({ license_id, key_hint, staff_email }) => {
    if (staff_email) return <Person email={staff_email} />;
    if (!license_id) return texts.noReason;
    const hint = key_hint ?? '';
    if (!hint) return <span class="quiet">{messages.audit.deleted}</span>;
    return (
      <a href={hrefOf('license', license_id)} aria-label={t(messages.find.keyLabel, { hint })}>
        {t(messages.find.keyHint, { hint })}
      </a>
    );
  },
};

/** Entries of the audit trail: who, what, why, when. */
export function Events({ events, caption, names = NO_NAMES, withLicense = false }: Props) {
  const { shown, more } = useFew(events, FEW);
  const columns: Column<AuditEvent>[] = [
    { name: texts.when, cell: ({ at }) => <time dateTime={at}>{shortMoment(at)}</time> },
    { name: texts.what, head: true, cell: (event) => <What event={event} names={names} /> },
    { name: texts.who, cell: ({ actor }) => <Person email={actor} /> },
    {
      name: texts.why,
      cell: ({ reason }) =>
        reason ? <UntrustedText text={reason} /> : <span class="quiet">{texts.noReason}</span>,
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
      {texts.actions[event.action] ?? event.action}
      {change && (
        <span class="quiet change">
          <UntrustedText text={change} />
        </span>
      )}
    </>
  );
}
