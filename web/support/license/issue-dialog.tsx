import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { memberErrors } from '../parts/problem-text.js';
import { useDeed } from '../parts/use-deed.js';
import type { License } from '../types.js';
import { messages } from '../messages.js';
import { IssuedDialog } from './issued-dialog.js';
import { isMachines } from './machines-allowed.js';

interface Answer {
  readonly license: License;
  readonly license_key: string;
}

/** Issues a license on the terms of the settings, or on others. */
export function IssueDialog({ onClose }: { onClose: () => void }) {
  const { issue: texts, change } = messages;
  const deed = useDeed();
  const [draft, setDraft] = useState({ email: '', machines_allowed: '', expires_at: '' });
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [issued, setIssued] = useState<Answer>();
  const errors = { ...memberErrors(deed.error), ...wrong };
  const edit = (changed: Partial<typeof draft>) => {
    setWrong({});
    setDraft({ ...draft, ...changed });
  };
  const isValid = () => {
    const found = wrongIn(draft);
    setWrong(found);
    return Object.keys(found).length === 0;
  };
  const send = async () => setIssued(await call<Answer>('POST', 'licenses', wantedOf(draft)));
  if (issued) return <IssuedDialog {...issued} onClose={onClose} />;
  return (
    <AskDialog
      title={texts.title}
      submit={texts.submit}
      deed={deed}
      isValid={isValid}
      onSubmit={() => deed.run(send)}
      onClose={onClose}
    >
      <Field
        label={texts.email}
        name="email"
        value={draft.email}
        onValue={(email) => edit({ email })}
        error={errors.email}
        input={{ type: 'email', autocomplete: 'off', spellcheck: false }}
      />
      <Field
        label={change.machines}
        name="machines_allowed"
        value={draft.machines_allowed}
        onValue={(machines_allowed) => edit({ machines_allowed })}
        hint={texts.machinesHint}
        error={errors.machines_allowed}
        input={{ inputMode: 'numeric', autocomplete: 'off' }}
      />
      <Field
        label={change.expires}
        name="expires_at"
        value={draft.expires_at}
        onValue={(expires_at) => edit({ expires_at })}
        hint={texts.expiresHint}
        error={errors.expires_at}
        input={{ type: 'date' }}
      />
    </AskDialog>
  );
}

type Draft = Readonly<Record<'email' | 'machines_allowed' | 'expires_at', string>>;

function wrongIn({ email, machines_allowed }: Draft): Record<string, string> {
  const { change: texts } = messages;
  return {
    ...(!email.includes('@') && { email: texts.emailWrong }),
    ...(machines_allowed.trim() &&
      !isMachines(machines_allowed) && { machines_allowed: texts.machinesWrong }),
  };
}

// What is left empty is as the settings have it.
function wantedOf({ email, machines_allowed, expires_at }: Draft) {
  return {
    email: email.trim(),
    ...(machines_allowed.trim() && { machines_allowed: Number(machines_allowed) }),
    ...(expires_at && { expires_at }),
  };
}
