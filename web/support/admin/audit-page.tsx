import { useEffect, useRef } from 'preact/hooks';
import { announce, moveFocus } from '../../shared/notices/announcer.js';
import type { AuditAnswer } from '../../../src/http/responses/api-types.js';
import { plural } from '../../shared/dates/dates.js';
import { fill } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { hrefOf } from '../route.js';
import { isOlderPage, readFilter, toQuery } from './audit-query.js';
import { DownloadAudit } from './download-audit.js';
import { Events } from './events.js';

const { audit: texts } = messages;

interface Props extends AuditAnswer {
  /** The filters of the URL, and the cursor of a page of older events. */
  readonly query: string;
  /** The parameters with which the service was asked. */
  readonly parameters: string;
}

/** A page of the audit trail. */
export function AuditPage({ query, parameters, events, next_cursor }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const filter = readFilter(query);
  const isFiltered = query !== '';
  const caption = plural(events.length, captionOf(isOlderPage(query), next_cursor !== null));
  useEffect(() => {
    announce(events.length > 0 ? caption : isFiltered ? texts.noneFound : texts.none);
    // The link that opened this page was on the page before, and was removed with it. Its focus is lost.
    if (document.activeElement === document.body) moveFocus(box.current);
  }, []);
  return (
    <div ref={box} class="flow entries">
      {events.length === 0 ? (
        <NoEvents isFiltered={isFiltered} />
      ) : (
        <>
          <DownloadAudit parameters={parameters} />
          <Events caption={caption} events={events} />
          <p class="quiet small keyboard-hint">{texts.keyboardHint}</p>
          <div class="actions">
            {next_cursor && (
              <a class="button plain" href={hrefOf('audit', toQuery(filter, next_cursor))}>
                {texts.older}
              </a>
            )}
            {isOlderPage(query) && <a href={hrefOf('audit', toQuery(filter))}>{texts.newest}</a>}
          </div>
        </>
      )}
    </div>
  );
}

function captionOf(isOlder: boolean, hasOlder: boolean) {
  if (isOlder) return texts.captionOfOlder;
  return hasOlder ? texts.captionOfNewest : texts.caption;
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered) return <p>{texts.none}</p>;
  return <p>{fill(texts.noneFoundClear, { clear: <a href={hrefOf('audit')}>{texts.clear}</a> })}</p>;
}
