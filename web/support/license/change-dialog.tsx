import { useLayoutEffect, useState } from 'preact/hooks';
import type { LicenseDetail, LicenseDetailAnswer } from '../../../src/http/responses/api-types.js';
import type { DialogField } from '../../shared/dialogs/confirm-dialog.js';
import { expiryAfter, lastDay } from '../../shared/dates/expiry.js';
import { t } from '../../shared/texts/text.js';
import { SentenceAndChange } from '../admin/events.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { emailField } from '../parts/email-field.js';
import { reasonField } from '../parts/reason.js';
import { changeLicense } from './change-call.js';
import type { ConditionalDialogProps } from './dialog-props.js';
import { expiresField, machinesField } from './term-fields.js';

interface Props extends Omit<ConditionalDialogProps, 'email' | 'onDone'> {
  readonly onDone: (license: LicenseDetail) => void;
}

/** Changes the terms of a license. Only the changed terms are sent, with a reason. */
export function ChangeDialog({ license: current, onClose, onConflict, onDone }: Props) {
  const { change: texts } = messages;
  const [opened] = useState(current);
  // The page may reload the license while the dialog is open. The change is based on the license whose values the dialog shows: the
  // one at the opening, or the one after the last refusal. Edited fields keep what was typed.
  const [license, setLicense] = useState(current);
  const [isRefused, setIsRefused] = useState(false);
  // A layout effect, because `Meanwhile` must be shown before the dialog scrolls to the explanation of the refusal below it.
  useLayoutEffect(() => {
    if (!isRefused || current.revision === license.revision) return;
    setLicense(current);
    setIsRefused(false);
  }, [isRefused, current]);
  const fields = fieldsOf(license);
  const changesOf = (values: Readonly<Record<string, string>>) =>
    Object.entries(fields).flatMap(([name, { value = '' }]) =>
      name === 'reason' || values[name] === value ? [] : [[name, valueToSend(name, values[name]!)] as const],
    );
  return (
    <ConfirmDialog
      title={t(texts.title, { hint: license.key_hint })}
      submit={texts.submit}
      danger={({ status }) => status !== 'active' && status !== license.staff_status}
      fields={fields}
      check={(values) => changesOf(values).length === 0 && texts.nothing}
      onConfirm={async (values) => {
        const body = { ...Object.fromEntries(changesOf(values)), reason: values.reason };
        const handleConflict = async () => {
          await onConflict();
          setIsRefused(true);
        };
        const change = { method: 'PATCH', body, onConflict: handleConflict } as const;
        onDone((await changeLicense<LicenseDetailAnswer>(license, change)).license);
      }}
      preview={() => license !== opened && <Meanwhile opened={opened} current={license} />}
      onClose={onClose}
    />
  );
}

/** Says what was done to the license since the dialog was opened, and by whom. */
function Meanwhile({ opened, current }: { opened: LicenseDetail; current: LicenseDetail }) {
  const { change: texts } = messages;
  const events = current.history.filter(({ id }) => !opened.history.some((known) => known.id === id));
  return (
    <div class="flow">
      <p>{texts.meanwhile}</p>
      <ul>
        {events.map((event) => (
          <li key={event.id}>
            <SentenceAndChange event={event} isOfLicense />
          </li>
        ))}
      </ul>
      <p>{texts.kept}</p>
    </div>
  );
}

function fieldsOf(license: LicenseDetail) {
  const { change: texts } = messages;
  const email = license.email ?? '';
  const emailCheck = (value: string) => value !== email && !value.includes('@') && texts.emailWrong;
  return {
    status: choiceField(texts.status, license.staff_status, texts.statuses, texts.statusMeans),
    machines_allowed: machinesField({ hint: texts.machinesHint, value: String(license.machines_allowed) }),
    // Only the day is shown. The time of day is kept unless the day is changed.
    expires_at: expiresField(license.expires_at === null ? '' : lastDay(license.expires_at)),
    on_expiry: choiceField(texts.onExpiry, license.on_expiry, texts.onExpiries, texts.onExpiryMeans),
    // A restore may have lost the address, which can be set again. An erased license gets no address.
    ...((email || license.is_address_lost) && {
      email: emailField(texts.email, emailCheck, { value: email, hint: texts.emailHint }),
    }),
    reason: reasonField(),
  };
}

/** @param means what each value leads to, as a hint: a long option would be cut off in its field */
const choiceField = <Value extends string>(
  label: string,
  value: Value,
  options: Readonly<Record<Value, string>>,
  means: Readonly<Record<Value, string>>,
): DialogField => ({ label, value, options, hint: (chosen) => means[chosen as Value] });

function valueToSend(name: string, text: string): string | number | null {
  if (name === 'machines_allowed') return Number(text);
  if (name === 'expires_at') return text === '' ? null : expiryAfter(text);
  return text;
}
