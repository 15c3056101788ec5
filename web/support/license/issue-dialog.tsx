import { useState } from 'preact/hooks';
import type { IssuedLicenseAnswer } from '../../../src/http/responses/api-types.js';
import { expiryAfter } from '../../shared/dates/expiry.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { emailField } from '../parts/email-field.js';
import { IssuedDialog } from './issued-dialog.js';
import { expiresField, machinesField } from './term-fields.js';

/** Issues a license. The service's settings determine the number of machines if it is left empty, and the effect of the expiry. */
export function IssueDialog({ onClose }: { onClose: () => void }) {
  const { issue: texts, change } = messages;
  const [issued, setIssued] = useState<IssuedLicenseAnswer>();
  // All requests of this dialog issue one license, also after a lost response (docs/decisions/0059).
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  if (issued) return <IssuedDialog {...issued} onClose={onClose} />;
  const fields = {
    email: emailField(texts.email, (value) => !value.includes('@') && change.emailWrong),
    machines_allowed: machinesField({ hint: texts.machinesHint, isOptional: true }),
    expires_at: expiresField(),
  };
  return (
    <ConfirmDialog
      title={texts.title}
      submit={texts.submit}
      fields={fields}
      onConfirm={async ({ email, machines_allowed, expires_at }) => {
        // An empty field is not sent: then the setting applies, or the license does not expire.
        const body = {
          email,
          ...(machines_allowed && { machines_allowed: Number(machines_allowed) }),
          ...(expires_at && { expires_at: expiryAfter(expires_at) }),
        };
        const headers = { 'idempotency-key': idempotencyKey };
        setIssued(await call<IssuedLicenseAnswer>('POST', 'licenses', body, { headers }));
      }}
      onClose={onClose}
    />
  );
}
