import { useState } from 'preact/hooks';
import { plural } from '../../shared/dates.js';
import { Choice } from '../parts/choice.js';
import { Loaded } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import type { AuditEvent } from '../types.js';
import { useLoad } from '../use-load.js';
import { words } from '../words.js';
import { Events } from './events.js';

/** What everyone did. */
export function AuditView() {
  const load = useLoad<{ events: AuditEvent[] }>('audit');
  const [only, setOnly] = useState('');
  const { audit: say, history } = words;
  return (
    <div class="flow">
      <ViewTitle>{say.title}</ViewTitle>
      <p class="quiet">{say.lead}</p>
      <Loaded load={load} waiting={say.waiting}>
        {({ events }) => {
          if (events.length === 0) return <p>{say.none}</p>;
          const there = [...new Set(events.map(({ action }) => action))].toSorted();
          const shown = events.filter(({ action }) => only === '' || action === only);
          const options = {
            '': say.all,
            ...Object.fromEntries(there.map((action) => [action, history.actions[action] ?? action])),
          };
          return (
            <>
              <div class="narrow">
                <Choice label={say.filter} name="only" value={only} options={options} onValue={setOnly} />
                <p class="unseen" role="status">
                  {only && plural(shown.length, say.caption)}
                </p>
              </div>
              <Events key={only} events={shown} caption={plural(shown.length, say.caption)} withLicense />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
