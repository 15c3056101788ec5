import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { Choice } from '../parts/choice.js';
import { memberErrors } from '../parts/problem-text.js';
import { t } from '../../shared/text.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { LicenseDetail, StaffStatus } from '../types.js';
import { messages } from '../messages.js';
import type { LicenseDialogProps } from './license-actions.js';
import { isMachines } from './machines-allowed.js';
import { TermsFields, type Terms } from './terms.js';

type Props = Omit<LicenseDialogProps, 'onDone'> & { readonly onDone: (license: LicenseDetail) => void };
type Draft = Terms & { readonly status: StaffStatus; readonly email: string };

/** Changes what is different from how it was, and says why. */
export function ChangeDialog({ license, email, onClose, onDone }: Props) {
  const { change: texts } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const [draft, setDraft] = useState(() => draftOf(license));
  const [wrong, setWrong] = useState<Record<string, string | undefined>>({});
  const errors = { ...memberErrors(deed.error), ...wrong };
  const edit = (changed: Draft) => {
    setWrong({});
    setDraft(changed);
  };
  const isValid = () => {
    const found = wrongIn(license, draft);
    setWrong(found);
    return reason.isValid() && Object.keys(found).length === 0;
  };
  const change = () =>
    deed.run(async () => {
      const body = { ...changesOf(license, draft), reason: reason.value.trim() };
      onDone((await call<{ license: LicenseDetail }>('PATCH', `licenses/${license.id}`, body)).license);
    });
  return (
    <AskDialog
      title={t(texts.title, { hint: license.key_hint })}
      submit={texts.submit}
      danger={draft.status !== 'active' && draft.status !== license.staff_status}
      deed={deed}
      isValid={isValid}
      onSubmit={change}
      onClose={onClose}
    >
      <Choice
        label={texts.status}
        name="status"
        value={draft.status}
        options={texts.statuses}
        onValue={(status) => edit({ ...draft, status })}
      />
      <TermsFields terms={draft} onTerms={edit} errors={errors} machinesHint={texts.machinesHint} />
      {(email || license.is_address_lost) && (
        <Field
          label={texts.email}
          name="email"
          value={draft.email}
          onValue={(value) => edit({ ...draft, email: value })}
          hint={texts.emailHint}
          error={errors.email}
          input={{ type: 'email', autocomplete: 'off', spellcheck: false }}
        />
      )}
      <ReasonField reason={reason} />
      {errors.nothing && <p class="error">{errors.nothing}</p>}
    </AskDialog>
  );
}

function draftOf({ staff_status, machines_allowed, expires_at, on_expiry, email }: LicenseDetail): Draft {
  return {
    status: staff_status,
    machines_allowed: String(machines_allowed),
    // Of a moment within a day the day is shown; it is kept to the second as long as nobody changes it.
    expires_at: expires_at?.slice(0, 10) ?? '',
    on_expiry,
    email: email ?? '',
  };
}

/** The members that are different, as they are sent. */
function changesOf(license: LicenseDetail, draft: Draft): Record<string, unknown> {
  const before = draftOf(license);
  const names = (Object.keys(draft) as (keyof Draft)[]).filter((name) => draft[name].trim() !== before[name]);
  return Object.fromEntries(names.map((name) => [name, sent(name, draft[name].trim())]));
}

function sent(name: keyof Draft, text: string): unknown {
  if (name === 'machines_allowed') return Number(text);
  return name === 'expires_at' && text === '' ? null : text;
}

function wrongIn(license: LicenseDetail, draft: Draft): Record<string, string> {
  const { change: texts } = messages;
  const changes = changesOf(license, draft);
  return {
    ...(!isMachines(draft.machines_allowed) && { machines_allowed: texts.machinesWrong }),
    ...('email' in changes && !draft.email.includes('@') && { email: texts.emailWrong }),
    ...(Object.keys(changes).length === 0 && { nothing: texts.nothing }),
  };
}
