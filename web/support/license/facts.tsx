import { formatNumber, plural, formatUtcDay } from '../../shared/dates/dates.js';
import { ExactTime } from '../../shared/dates/exact-time.js';
import { expiryText } from '../../shared/dates/expiry.js';
import { refundDay } from '../../shared/dates/refund.js';
import { fill, t } from '../../shared/texts/text.js';
import type { LicenseDetail } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { Copyable } from '../parts/copyable.js';
import { Fact } from '../parts/fact.js';
import { hrefOf } from '../route.js';

export function Facts({ license }: { license: LicenseDetail }) {
  const { facts } = messages.license;
  return (
    <dl class="facts">
      <Fact name={facts.holder}>
        {license.email ? (
          <>
            <Copyable text={license.email} what={messages.find.kinds.email} />
            <br />
            <a href={hrefOf('holder', license.id)}>{facts.allOfHolder}</a>
          </>
        ) : (
          <span class="quiet">
            {license.is_address_lost ? messages.license.addressLost : messages.license.erasedHolder}
          </span>
        )}
      </Fact>
      <Fact name={facts.keyHint}>
        <Copyable class="mono" text={license.key_hint} what={messages.copy.keyHint} />
      </Fact>
      {license.previous_key_hint !== null && (
        <Fact name={facts.previousKeyHint}>
          <span class="mono">{license.previous_key_hint}</span>
        </Fact>
      )}
      <Fact name={facts.machines}>
        <MachinesInUse license={license} />
      </Fact>
      <Fact name={facts.expiry}>{expiryText(license, messages.license.expiry)}</Fact>
      <Fact name={facts.purchase}>
        <Purchase license={license} />
      </Fact>
      <Fact name={facts.created}>
        <ExactTime at={license.created_at} />
      </Fact>
      <Fact name={facts.id}>
        <Copyable class="mono" text={license.id} what={messages.find.kinds.license_id} />
      </Fact>
    </dl>
  );
}

function MachinesInUse({ license: { machines_in_use, machines_allowed } }: { license: LicenseDetail }) {
  const sentence = plural(machines_allowed, messages.license.machinesInUse);
  return (
    <>
      <strong>{t(sentence, { used: formatNumber(machines_in_use) })}</strong>
      {machines_in_use > machines_allowed && <span class="quiet"> {messages.license.overLimit}</span>}
    </>
  );
}

function Purchase({ license: { purchase, activations } }: { license: LicenseDetail }) {
  if (!purchase) return <span class="quiet">{messages.license.noPurchase}</span>;
  const refundedOn = refundDay(activations);
  return (
    <>
      {fill(messages.license.purchase, {
        id: <Copyable text={purchase.transaction_id} what={messages.find.kinds.transaction_id} />,
        state: refundedOn
          ? t(messages.license.refundedOn, { day: refundedOn })
          : messages.license.purchaseStates[purchase.state],
        day: formatUtcDay(purchase.recorded_on),
      })}
    </>
  );
}
