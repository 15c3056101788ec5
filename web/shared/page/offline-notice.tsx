import { useIsOffline, useReconnection } from '../api/connection.js';
import { announce } from '../notices/announcer.js';
import { removeError } from '../notices/toast.js';
import { common } from '../texts/messages.js';

/**
 * Says that this device is offline, as long as it is. The element is always rendered, because screen readers announce changes of
 * existing elements only.
 */
export function OfflineNotice() {
  const isOffline = useIsOffline();
  useReconnection(noteReconnection);
  return (
    <div class="offline" role="status">
      {isOffline && <p>{common.offlineNotice}</p>}
    </div>
  );
}

function noteReconnection(): void {
  removeError(common.offline);
  announce(common.onlineAgain);
}
