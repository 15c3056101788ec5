import { useEffect } from 'preact/hooks';
import { formatDayWithYear } from '../shared/dates/dates.js';
import { Button } from '../shared/forms/button.js';
import { brand } from '../shared/page/brand.js';
import { fill, t, UntrustedText } from '../shared/texts/text.js';
import { Notice } from '../shared/notices/notice.js';
import { OnDemandButton } from './on-demand-button.js';
import { ErasureNotice } from './erasure-notice.js';
import { isUsable } from './holder.js';
import { LicenseSection } from './license.js';
import { Session, type HolderSession } from './session.js';
import { Summary } from './summary.js';
import { isOpenedForUnknownMachine, elementToFocus } from './this-machine.js';
import { messages } from './messages.js';
import { YourData } from './your-data.js';

interface Props extends HolderSession {
  /** Whether the session has ended and the dialog to sign in again is not open. A notice then has a button that opens it. */
  readonly isStale: boolean;
}

/** The page of a signed-in holder. */
export function Overview({ isStale, ...session }: Props) {
  const { holder, onEnded, openSignInByCode } = session;
  // If the application opens the page again for another machine, only the hash of the URL changes, and nothing is reloaded.
  useEffect(() => {
    const refresh = () => session.update((latest) => ({ ...latest }), elementToFocus(holder));
    addEventListener('hashchange', refresh);
    return () => removeEventListener('hashchange', refresh);
  }, [holder]);
  return (
    <Session.Provider value={session}>
      {isStale && (
        <Notice kind="warning">
          <p>{messages.session.endedNotice}</p>
          <OnDemandButton onLoaded={onEnded}>{messages.session.again}</OnDemandButton>
        </Notice>
      )}
      <Summary holder={holder} />
      <div class="print-only">
        <h1>{fill(messages.license.sheet, { product: <UntrustedText text={brand.product_name} /> })}</h1>
        <p>{t(messages.license.printed, { day: formatDayWithYear(new Date().toISOString()) })}</p>
      </div>
      {holder.erasure && <ErasureNotice erasure={holder.erasure} />}
      {isOpenedForUnknownMachine(holder) && <Notice kind="warning">{messages.machines.notHere}</Notice>}
      {holder.licenses
        .toSorted((a, b) => Number(isUsable(b)) - Number(isUsable(a)))
        .map((license) => (
          <LicenseSection key={license.id} license={license} />
        ))}
      {holder.licenses.length > 0 && <Button onClick={() => print()}>{messages.license.print}</Button>}
      {holder.signed_in_by === 'key' && (
        <p class="actions small">
          <span class="quiet">{messages.license.onlyThis}</span>
          <OnDemandButton kind="link" onLoaded={() => openSignInByCode({ focusAfterwards: 'headline' })}>
            {fill(messages.license.showAll, { email: <UntrustedText text={holder.email} /> })}
          </OnDemandButton>
        </p>
      )}
      {holder.licenses.length > 0 && (
        <p class="small quiet">
          {messages.machines.noLastSeen} <a href="../privacy/">{messages.machines.whatIsStored}</a>
        </p>
      )}
      <YourData />
    </Session.Provider>
  );
}
