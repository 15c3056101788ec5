import { Button } from '../../shared/forms/button.js';
import { formatUtcDay } from '../../shared/dates/dates.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import type { CrashGroup } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { EmailAddress } from '../parts/email-address.js';
import { crashName } from './crash-name.js';

const { crashStates: texts, reopened, resolvedIn } = messages.fleet;
const STATES = ['open', 'resolved', 'muted'] as const;

interface Props {
  readonly group: CrashGroup;
  readonly onChange: (state: CrashGroup['state']) => void;
}

/** The state of a crash group, who set it, and buttons for the other states. */
export function CrashState({ group, onChange }: Props) {
  const { state, changed_by, changed_at } = group;
  return (
    <>
      <StateText group={group} />
      {changed_at !== null && (
        <span class="quiet small change">
          {formatUtcDay(changed_at)}
          {changed_by !== null && (
            <>
              {', '}
              <EmailAddress email={changed_by} />
            </>
          )}
        </span>
      )}
      <div class="row-actions state-actions">
        {STATES.filter((each) => each !== state).map((each) => (
          <Button
            key={each}
            label={t(texts[each].buttonLabel, { crash: crashName(group) })}
            onClick={() => onChange(each)}
          >
            {texts[each].button}
          </Button>
        ))}
      </div>
    </>
  );
}

function StateText({ group: { state, resolved_in } }: { group: CrashGroup }) {
  if (resolved_in === null) return <span class="quiet">{texts[state].name}</span>;
  // Either it is resolved, or it was and has crashed again since. A group that staff open again has no `resolved_in`.
  const version = { version: <UntrustedText text={resolved_in} /> };
  if (state === 'resolved') return <span>{fill(resolvedIn, version)}</span>;
  return (
    <>
      <span class="tag danger">{reopened}</span>{' '}
      <span class="quiet small change">{fill(texts.open.wasResolved, version)}</span>
    </>
  );
}
