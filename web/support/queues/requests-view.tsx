import type { ReleaseQueueAnswer, WaitingReleaseRequest } from '../../../src/http/responses/api-types.js';
import { useState } from 'preact/hooks';
import { formatNumber } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { Loaded } from '../parts/loaded.js';
import { EmailAddress } from '../parts/email-address.js';
import { focusRow } from '../parts/show-change.js';
import type { Column } from '../parts/table.js';
import { ViewTitle } from '../parts/view-title.js';
import { hrefOf } from '../route.js';
import type { Decision } from '../types.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import type { Target } from './decide.js';
import { DecideDialog } from './decide-dialog.js';
import { listedCount } from './listed-count.js';
import { RequestTable } from './request-table.js';
import { useRowShortcuts } from './row-keys.js';
import { isPending, useRowStates } from './row-states.js';

const texts = messages.requests;

const LICENSE_COLUMNS: readonly Column<WaitingReleaseRequest>[] = [
  {
    name: texts.holder,
    headerClass: 'column-holder',
    cell: ({ license: { id, email, key_hint, machines_in_use, machines_allowed } }) => (
      <span class="holder">
        {email ? <EmailAddress email={email} /> : <span class="quiet">{messages.find.erased}</span>}{' '}
        <span class="quiet small">
          <a href={hrefOf('license', id)}>{t(messages.find.keyLabel, { hint: key_hint })}</a>
          {': '}
          <span class="end">
            {t(messages.find.machinesOf, {
              used: formatNumber(machines_in_use),
              allowed: formatNumber(machines_allowed),
            })}
          </span>
        </span>
      </span>
    ),
  },
];

/** The queue of release requests, which holders send if they may not release a machine themselves. */
export function RequestsView({ load }: { load: Load<ReleaseQueueAnswer> }) {
  const [deciding, setDeciding] = useState<{ targets: readonly Target[]; decision: Decision }>();
  const states = useRowStates();
  useRowShortcuts();

  function handleConfirmed(targets: readonly Target[]) {
    setDeciding(undefined);
    // The next open request gets the focus, else the nearest one before it, so that a queue can be worked through by keyboard. If
    // none is open any more, the id is empty, so the heading gets the focus.
    const waiting = load.data?.release_requests ?? [];
    // The queue may have been loaded again since the dialog was opened, so ids are compared.
    const decidedIds = targets.map(({ request }) => request?.id);
    const isOpen = ({ id, activation }: WaitingReleaseRequest) =>
      !decidedIds.includes(id) && !isPending(states.get(activation.id));
    const index = Math.max(
      waiting.findLastIndex(({ id }) => decidedIds.includes(id)),
      0,
    );
    const next = waiting.slice(index).find(isOpen) ?? waiting.slice(0, index).findLast(isOpen);
    focusRow(next?.id ?? '');
  }

  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet measure">{texts.lead}</p>
      <Loaded load={load} loadingText={texts.waiting}>
        {({ release_requests }) =>
          release_requests.length === 0 ? (
            <p>{texts.none}</p>
          ) : (
            <>
              <RequestTable
                rows={release_requests}
                caption={listedCount(
                  release_requests.length,
                  release_requests.length,
                  texts.caption,
                  texts.captionAtLimit,
                )}
                licenseColumns={LICENSE_COLUMNS}
                onDecide={(targets, decision) => setDeciding({ targets, decision })}
              />
              <p class="quiet small keyboard-hint">{texts.keyboardHint}</p>
            </>
          )
        }
      </Loaded>
      {deciding && (
        <DecideDialog
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onConfirmed={() => handleConfirmed(deciding.targets)}
        />
      )}
    </div>
  );
}
