import { formatShortTime } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Person } from '../parts/person.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { hrefOf } from '../route.js';
import type { AuditEvent } from '../../shared/api-types.js';
import { messages } from '../messages.js';
import { changeText } from './event-change.js';

const ROWS_SHOWN_AT_FIRST = 25;
const texts = messages.history;
const NO_LABELS: ReadonlyMap<string, string> = new Map();

interface Props {
  readonly events: readonly AuditEvent[];
  readonly caption: string;
  /** The labels of ids in the entries. */
  readonly labels?: ReadonlyMap<string, string>;
  /** Whether a column shows the license or the staff member that each entry concerns. */
  readonly withLicense?: boolean;
}

const CONCERNS_COLUMN: Column<AuditEvent> = {
  name: messages.audit.license,
  cell: ({ license_id, key_hint, staff_email }) => {
    if (staff_email) return <Person email={staff_email} />;
    if (!license_id) return messages.audit.noLicense;
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
export function Events({ events, caption, labels = NO_LABELS, withLicense = false }: Props) {
  const { shown, showAllButton } = useFirstRows(events, ROWS_SHOWN_AT_FIRST);
  const columns: Column<AuditEvent>[] = [
    { name: texts.when, cell: ({ at }) => <time dateTime={at}>{formatShortTime(at)}</time> },
    {
      name: texts.what,
      isRowHeader: true,
      cell: (event) => <ActionAndChange event={event} labels={labels} />,
    },
    { name: texts.who, cell: ({ actor }) => <Person email={actor} /> },
    {
      name: texts.why,
      cell: ({ reason }) =>
        reason ? <UntrustedText text={reason} /> : <span class="quiet">{texts.noReason}</span>,
    },
    ...(withLicense ? [CONCERNS_COLUMN] : []),
  ];
  return (
    <>
      <Table caption={caption} columns={columns} rows={shown} idOf={({ id }) => id} />
      {showAllButton}
    </>
  );
}

function ActionAndChange({ event, labels }: { event: AuditEvent; labels: ReadonlyMap<string, string> }) {
  const change = changeText(event, labels);
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
