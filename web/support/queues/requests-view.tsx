import { useState } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { number } from '../../shared/dates.js';
import { Notice } from '../../shared/notice.js';
import { Loaded } from '../parts/loaded.js';
import { Person } from '../parts/person.js';
import { say as put } from '../../shared/say.js';
import { showChange } from '../parts/show-change.js';
import type { Column } from '../parts/table.js';
import { ViewTitle } from '../parts/view-title.js';
import { hrefOf } from '../route.js';
import type { Decision, WaitingRequest } from '../types.js';
import type { Load } from '../use-load.js';
import { words } from '../words.js';
import { DecideDialog } from './decide-dialog.js';
import { RequestTable } from './request-table.js';

const say = words.requests;
const DONE_ID = 'decided';

const WHOSE: readonly Column<WaitingRequest>[] = [
  {
    name: say.holder,
    cell: ({ license: { email } }) =>
      email ? <Person email={email} /> : <span class="quiet">{words.find.erased}</span>,
  },
  {
    name: say.license,
    cell: ({ license: { id, key_hint, machines_in_use, machines_allowed } }) => (
      <>
        <a href={hrefOf('license', id)} aria-label={put(words.find.keyLabel, { hint: key_hint })}>
          {put(words.find.keyHint, { hint: key_hint })}
        </a>
        <br />
        <span class="quiet small">
          {put(words.find.machinesOf, {
            used: number(machines_in_use),
            allowed: number(machines_allowed),
          })}
        </span>
      </>
    ),
  },
];

/** What holders ask for and may not do themselves. */
export function RequestsView({ load }: { load: Load<{ release_requests: readonly WaitingRequest[] }> }) {
  const [deciding, setDeciding] = useState<{ asked: WaitingRequest; decision: Decision }>();
  const [said, setSaid] = useState('');

  async function decided(text: string, id: string) {
    const waiting = load.data?.release_requests ?? [];
    setDeciding(undefined);
    load.set({ release_requests: waiting.filter((request) => request.id !== id) });
    setSaid(text);
    showChange(text);
    requestAnimationFrame(() => moveFocus(document.getElementById(DONE_ID)));
    await load.reload();
  }

  return (
    <div class="flow">
      <ViewTitle>{say.title}</ViewTitle>
      <p class="quiet">{say.lead}</p>
      {said && (
        <div id={DONE_ID}>
          <Notice kind="good">{said}</Notice>
        </div>
      )}
      <Loaded load={load} waiting={say.waiting}>
        {({ release_requests }) =>
          release_requests.length === 0 ? (
            <p>{say.none}</p>
          ) : (
            <RequestTable
              rows={release_requests}
              whose={WHOSE}
              onDecide={(asked, decision) => setDeciding({ asked, decision })}
            />
          )
        }
      </Loaded>
      {deciding && (
        <DecideDialog
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onDecided={(text) => void decided(text, deciding.asked.id)}
        />
      )}
    </div>
  );
}
