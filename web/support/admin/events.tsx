import { RelativeTime } from '../parts/relative-time.js';
import { UntrustedText } from '../../shared/texts/text.js';
import { Table, type Column } from '../parts/table.js';
import type { AuditEvent } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { changeText } from './event-change.js';
import { EventSentence } from './event-sentence.js';

const { history: texts } = messages;

interface Props {
  readonly events: readonly AuditEvent[];
  readonly caption: string;
  /**
   * Whether all events concern one license and are shown on its page. They then call it "this license", without a
   * link.
   */
  readonly isOfLicense?: boolean;
}

/** Events of the audit trail: when, who did what, why. */
export function Events({ events, caption, isOfLicense = false }: Props) {
  const columns: Column<AuditEvent>[] = [
    {
      name: texts.when,
      hidesName: true,
      cell: ({ at }) => <RelativeTime at={at} />,
    },
    {
      name: texts.what,
      isRowHeader: true,
      cell: (event) => <SentenceAndChange event={event} isOfLicense={isOfLicense} />,
    },
    {
      name: texts.why,
      cell: ({ reason }) =>
        reason ? <UntrustedText text={reason} /> : <span class="quiet">{texts.noReason}</span>,
    },
  ];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={events}
      idOf={({ id }) => id}
      hasRowShortcuts={!isOfLicense}
    />
  );
}

/** An event of the audit trail: its sentence, and below it what changed. */
export function SentenceAndChange({ event, isOfLicense }: { event: AuditEvent; isOfLicense: boolean }) {
  const change = changeText(event);
  return (
    <span class="event">
      <EventSentence event={event} isOfLicense={isOfLicense} />
      {change && (
        <span class="quiet change">
          <UntrustedText text={change} />
        </span>
      )}
    </span>
  );
}
