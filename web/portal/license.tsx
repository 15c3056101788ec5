import { useAction } from '../shared/forms/action.js';
import { brand, ContactLine } from '../shared/page/brand.js';
import { Button } from '../shared/forms/button.js';
import { expiryText } from '../shared/dates/expiry.js';
import { refundDay } from '../shared/dates/refund.js';
import { common } from '../shared/texts/messages.js';
import { fill, t, UntrustedText } from '../shared/texts/text.js';
import { toast } from '../shared/notices/toast.js';
import type { HolderLicense } from '../../src/http/responses/api-types.js';
import { NextStep } from './free-a-place.js';
import { displayStatus, isEnded, isUsable, type DisplayStatus } from './holder.js';
import { Machines } from './machines.js';
import { hasWaitingMachine } from './release-link.js';
import { sendKey } from './portal-api.js';
import { Places } from './places.js';
import { useHolderError, useHolderSession } from './session.js';
import { inUseText } from './summary.js';
import { messages } from './messages.js';

const TAG_CLASSES: Record<DisplayStatus, string> = {
  active: 'good',
  updates_ended: 'good',
  suspended: 'warning',
  expired: 'danger',
  refunded: 'danger',
  revoked: 'danger',
};

/** One license: its status, how many machines use it, and which. */
export function LicenseSection({ license }: { license: HolderLicense }) {
  const { holder } = useHolderSession();
  // The expiry of a refunded or revoked license is not shown; that of an expired one is.
  const hasEnded = isEnded(license);
  const refundedOn = refundDay(license.activations);
  const isOneOfSeveral = holder.licenses.length > 1;
  const status = displayStatus(license);
  const inUse = inUseText(license.machines_in_use, license.machines_allowed);
  // Undefined for `active` and `updates_ended`, although the type says otherwise.
  const explanation = messages.license.explanations[status as keyof typeof messages.license.explanations];
  return (
    <section class="license flow">
      <header>
        <h2 id={`license-${license.id}`}>
          {fill(messages.license.title, { hint: <span class="mono">{license.key_hint}</span> })}
        </h2>
        <span class={`tag ${TAG_CLASSES[status]}`}>{messages.license.statuses[status]}</span>
        {isOneOfSeveral && isUsable(license) && license.machines_allowed > 1 && (
          <Places used={license.machines_in_use} allowed={license.machines_allowed} />
        )}
      </header>
      {explanation && <p>{explanation}</p>}
      {refundedOn && <p class="quiet">{t(messages.license.refundedOn, { day: refundedOn })}</p>}
      <NextLicense status={status} />
      {explanation && <ContactLine contact={brand.support_contact} text={common.support} />}
      <p class="quiet" hidden={hasEnded}>
        {isOneOfSeveral && `${inUse} · `}
        {expiryText(license, messages.license.expiry)}
      </p>
      <p class="print-only">
        {fill(messages.license.licensedTo, { email: <UntrustedText text={holder.email} />, inUse })}
      </p>
      {holder.signed_in_by === 'code' && !hasEnded && <SendKey license={license} />}
      {hasWaitingMachine(license) && isUsable(license) && <NextStep license={license} />}
      <Machines license={license} />
    </section>
  );
}

/** A link to renew a license whose expiry has passed, or to buy another one after a refund. */
function NextLicense({ status }: { status: DisplayStatus }) {
  const hasExpired = status === 'expired' || status === 'updates_ended';
  const url = hasExpired ? (brand.renewal_url ?? brand.shop_url) : brand.shop_url;
  if (!url || !(hasExpired || status === 'refunded')) return null;
  return (
    <p>
      <a class={`button ${status === 'expired' ? 'primary' : ''}`} href={url}>
        {hasExpired ? messages.license.renew : messages.license.buy}
      </a>
    </p>
  );
}

/** A button that mails the license key to the holder. A holder who signed in with a mailed code may have lost the key. */
function SendKey({ license }: { license: HolderLicense }) {
  const { holder } = useHolderSession();
  const { busy, error, run } = useAction(useHolderError());
  if (!license.is_key_mailable) return <p class="quiet">{messages.refused.key_not_mailable}</p>;
  const send = () =>
    run(async () => {
      await sendKey(license.id);
      toast(t(messages.license.keySent, { email: holder.email }));
    });
  return (
    <div class="actions">
      <Button kind="link" busy={busy} onClick={() => void send()}>
        {messages.license.sendKey}
      </Button>
      {error && (
        <span class="error" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
