import type { LicenseDetail } from '../../../src/http/responses/api-types.js';
import { Events } from '../admin/events.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { messages } from '../messages.js';

const ROWS_SHOWN_AT_FIRST = 25;
const { history: texts } = messages;

/** What was done to a license, by whom and why. */
export function History({ license: { history } }: { license: LicenseDetail }) {
  const { shown, showAllButton } = useFirstRows(history, ROWS_SHOWN_AT_FIRST);
  return (
    <section class="flow" aria-labelledby="history">
      <h2 id="history">{texts.title}</h2>
      {history.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <Events events={shown} caption={texts.caption} isOfLicense />
      )}
      {showAllButton}
    </section>
  );
}
