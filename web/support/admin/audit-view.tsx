import { Loaded } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import type { AuditAnswer, AuditFiltersAnswer } from '../../../src/http/responses/api-types.js';
import { useRowShortcuts } from '../queues/row-keys.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { AuditFilterForm } from './audit-filter-form.js';
import { AuditPage } from './audit-page.js';
import { toParameters } from './audit-query.js';

const { audit: texts } = messages;

/** The audit trail of all licenses and staff. @param query the filters and the cursor of the URL */
export function AuditView({ query }: { query: string }) {
  const filters = useLoad<AuditFiltersAnswer>('audit/filters');
  const parameters = toParameters(query);
  useRowShortcuts();
  const page = useLoad<AuditAnswer>(`audit?${parameters}`);
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet measure">{texts.lead}</p>
      <Loaded load={filters} loadingText={texts.waitingForFilters}>
        {(choices) => <AuditFilterForm query={query} choices={choices} />}
      </Loaded>
      {/* support.css hides what follows a loading text. The rows wait for the filters: a hidden row cannot get the focus. */}
      {(filters.data ?? filters.error) !== undefined && (
        <Loaded load={page} loadingText={texts.waiting}>
          {(answer) => <AuditPage key={query} query={query} parameters={parameters} {...answer} />}
        </Loaded>
      )}
    </div>
  );
}
