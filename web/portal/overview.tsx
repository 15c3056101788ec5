import { useEffect } from 'preact/hooks';
import { Button } from '../shared/button.js';
import { fill, UntrustedText } from '../shared/text.js';
import { Notice } from '../shared/notice.js';
import { ErasureNotice } from './erasure-notice.js';
import { LicenseSection } from './license.js';
import { Session, type HolderSession } from './session.js';
import { Summary } from './summary.js';
import { isAnotherMachine, thisMachineElement } from './this-machine.js';
import { messages } from './messages.js';
import { YourData } from './your-data.js';

interface Props extends HolderSession {
  /** The session has ended, and signing in again was put off. */
  readonly stale: boolean;
}

/** The page of someone who is signed in. */
export function Overview({ stale, ...session }: Props) {
  const { holder, onEnded, proveMailbox } = session;
  // The application may open the page for another machine, which changes only the hash of its address.
  useEffect(() => {
    const again = () => session.update({ ...holder }, thisMachineElement(holder));
    addEventListener('hashchange', again);
    return () => removeEventListener('hashchange', again);
  }, [holder]);
  return (
    <Session.Provider value={session}>
      {stale && (
        <Notice kind="warning">
          <p>{messages.session.endedNotice}</p>
          <Button onClick={onEnded}>{messages.session.again}</Button>
        </Notice>
      )}
      <Summary holder={holder} />
      {holder.erasure && <ErasureNotice erasure={holder.erasure} />}
      {isAnotherMachine(holder) && <Notice kind="warning">{messages.machines.notHere}</Notice>}
      {holder.licenses.map((license) => (
        <LicenseSection key={license.id} license={license} />
      ))}
      {holder.signed_in_by === 'key' && (
        <p class="actions small">
          <span class="quiet">{messages.license.onlyThis}</span>
          <Button kind="link" onClick={() => proveMailbox('headline')}>
            {fill(messages.license.showAll, { email: <UntrustedText text={holder.email} /> })}
          </Button>
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
