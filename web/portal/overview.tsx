import { useEffect } from 'preact/hooks';
import { Button } from '../shared/button.js';
import { Notice } from '../shared/notice.js';
import { ErasureNotice } from './erasure-notice.js';
import { LicenseSection } from './license.js';
import { Session, type HolderSession } from './session.js';
import { Summary } from './summary.js';
import { messages } from './messages.js';
import { YourData } from './your-data.js';

interface Props extends HolderSession {
  /** The session has ended, and signing in again was put off. */
  readonly stale: boolean;
}

/** The page of someone who is signed in. */
export function Overview({ stale, ...session }: Props) {
  const { holder, onEnded } = session;
  // Reads "This machine" out of the address again when the application opens another.
  useEffect(() => {
    const again = () => session.update(holder, 'headline');
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
      {holder.licenses.map((license) => (
        <LicenseSection key={license.id} license={license} />
      ))}
      {holder.licenses.length > 0 && (
        <p class="small quiet">
          {messages.machines.noLastSeen} <a href="../privacy/">{messages.machines.whatIsStored}</a>
        </p>
      )}
      <YourData />
    </Session.Provider>
  );
}
