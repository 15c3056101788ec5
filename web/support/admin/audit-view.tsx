import { useState } from 'preact/hooks';
import { plural } from '../../shared/dates.js';
import { Choice } from '../../shared/choice.js';
import { Loaded } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import type { AuditAnswer } from '../../shared/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { Events } from './events.js';

/** What everyone did. */
export function AuditView() {
  const load = useLoad<AuditAnswer>('audit');
  const [only, setOnly] = useState('');
  const { audit: texts, history } = messages;
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet">{texts.lead}</p>
      <Loaded load={load} waiting={texts.waiting}>
        {({ events }) => {
          if (events.length === 0) return <p>{texts.none}</p>;
          const there = [...new Set(events.map(({ action }) => action))].toSorted();
          const shown = events.filter(({ action }) => only === '' || action === only);
          const options = {
            '': texts.all,
            ...Object.fromEntries(there.map((action) => [action, history.actions[action] ?? action])),
          };
          return (
            <>
              <div class="narrow">
                <Choice label={texts.filter} name="only" value={only} options={options} onValue={setOnly} />
                <p class="unseen" role="status">
                  {only && plural(shown.length, texts.caption)}
                </p>
              </div>
              <Events key={only} events={shown} caption={plural(shown.length, texts.caption)} withLicense />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
