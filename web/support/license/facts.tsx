import type { ComponentChildren } from 'preact';
import { number, plural, utcDay, day } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { say as put } from '../../shared/say.js';
import type { LicenseDetail } from '../types.js';
import { words } from '../words.js';
import { Expiry } from './expiry.js';

export function Facts({ license }: { license: LicenseDetail }) {
  const { facts } = words.license;
  return (
    <dl class="facts">
      <Fact name={facts.holder}>
        {license.email ? (
          <Stranger text={license.email} />
        ) : (
          <span class="quiet">
            {license.is_address_lost ? words.license.addressLost : words.license.erasedHolder}
          </span>
        )}
      </Fact>
      <Fact name={facts.machines}>
        <MachinesInUse license={license} />
      </Fact>
      <Fact name={facts.expiry}>
        <Expiry license={license} />
      </Fact>
      <Fact name={facts.purchase}>
        <Purchase license={license} />
      </Fact>
      <Fact name={facts.created}>{day(license.created_at)}</Fact>
      <Fact name={facts.id}>
        <span class="mono">{license.id}</span>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function MachinesInUse({ license: { machines_in_use, machines_allowed } }: { license: LicenseDetail }) {
  const sentence = plural(machines_allowed, words.license.machinesInUse);
  return (
    <>
      <strong>{put(sentence, { used: number(machines_in_use) })}</strong>
      {machines_in_use > machines_allowed && <span class="quiet"> {words.license.overLimit}</span>}
    </>
  );
}

function Purchase({ license: { purchase } }: { license: LicenseDetail }) {
  if (!purchase) return <span class="quiet">{words.license.noPurchase}</span>;
  return (
    <span class="stranger">
      {put(words.license.purchase, {
        id: purchase.transaction_id,
        state: words.license.purchaseStates[purchase.state],
        day: utcDay(purchase.recorded_on),
      })}
    </span>
  );
}
