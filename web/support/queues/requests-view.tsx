import type { ReleaseQueueAnswer } from '../../shared/api-types.js';
import { useState } from 'preact/hooks';
import { formatNumber } from '../../shared/dates.js';
import { t } from '../../shared/text.js';
import { Loaded } from '../parts/loaded.js';
import { Person } from '../parts/person.js';
import { showChange } from '../parts/show-change.js';
import type { Column } from '../parts/table.js';
import { ViewTitle } from '../parts/view-title.js';
import { hrefOf } from '../route.js';
import type { Decision, WaitingRequest } from '../types.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import { DecideDialog } from './decide-dialog.js';
import { RequestTable } from './request-table.js';

const texts = messages.requests;

const LICENSE_COLUMNS: readonly Column<WaitingRequest>[] = [
  {
    name: texts.holder,
    cell: ({ license: { email } }) =>
      email ? <Person email={email} /> : <span class="quiet">{messages.find.erased}</span>,
  },
  {
    name: texts.license,
    cell: ({ license: { id, key_hint, machines_in_use, machines_allowed } }) => (
      <>
        <a href={hrefOf('license', id)} aria-label={t(messages.find.keyLabel, { hint: key_hint })}>
          {t(messages.find.keyHint, { hint: key_hint })}
        </a>
        <br />
        <span class="quiet small">
          {t(messages.find.machinesOf, {
            used: formatNumber(machines_in_use),
            allowed: formatNumber(machines_allowed),
          })}
        </span>
      </>
    ),
  },
];

/** The queue of release requests, which holders send if they may not release a machine themselves. */
export function RequestsView({ load }: { load: Load<ReleaseQueueAnswer> }) {
  const [deciding, setDeciding] = useState<{ request: WaitingRequest; decision: Decision }>();

  async function handleDecided(text: string, id: string) {
    const waiting = load.data?.release_requests ?? [];
    const index = waiting.findIndex((request) => request.id === id);
    const next = waiting[index + 1] ?? waiting[index - 1];
    setDeciding(undefined);
    load.set({ release_requests: waiting.filter((request) => request.id !== id) });
    // The next request gets the focus, so that a queue can be worked through by keyboard. After the last one the id is empty,
    // so the heading gets the focus.
    showChange(text, next?.id ?? '');
    await load.reload();
  }

  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet">
        {texts.lead} {texts.keys}
      </p>
      <Loaded load={load} loadingText={texts.waiting}>
        {({ release_requests }) =>
          release_requests.length === 0 ? (
            <p>{texts.none}</p>
          ) : (
            <RequestTable
              rows={release_requests}
              licenseColumns={LICENSE_COLUMNS}
              onDecide={(request, decision) => setDeciding({ request, decision })}
            />
          )
        }
      </Loaded>
      {deciding && (
        <DecideDialog
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onDecided={(text) => void handleDecided(text, deciding.request.id)}
        />
      )}
    </div>
  );
}
