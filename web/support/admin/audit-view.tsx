import { useState } from 'preact/hooks';
import { plural } from '../../shared/dates.js';
import { Choice } from '../../shared/choice.js';
import { Loaded } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import type { AuditAnswer } from '../../shared/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { Events } from './events.js';

/** The audit trail of all licenses and staff, which can be filtered by action. */
export function AuditView() {
  const load = useLoad<AuditAnswer>('audit');
  const [selectedAction, setSelectedAction] = useState('');
  const { audit: texts, history } = messages;
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <p class="quiet">{texts.lead}</p>
      <Loaded load={load} loadingText={texts.waiting}>
        {({ events }) => {
          if (events.length === 0) return <p>{texts.none}</p>;
          const actions = [...new Set(events.map(({ action }) => action))].toSorted();
          const shown = events.filter(({ action }) => selectedAction === '' || action === selectedAction);
          const options = {
            '': texts.all,
            ...Object.fromEntries(actions.map((action) => [action, history.actions[action] ?? action])),
          };
          return (
            <>
              <div class="narrow">
                <Choice
                  label={texts.filter}
                  name="only"
                  value={selectedAction}
                  options={options}
                  onValue={setSelectedAction}
                />
                <p class="unseen" role="status">
                  {selectedAction && plural(shown.length, texts.caption)}
                </p>
              </div>
              <Events
                key={selectedAction}
                events={shown}
                caption={plural(shown.length, texts.caption)}
                withLicense
              />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
