import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../../shared/notices/loading.js';
import { Unavailable } from '../../shared/notices/unavailable.js';
import { messages } from '../messages.js';
import { hrefOf } from '../route.js';

const importView = () => import('./fleet-view.js');

/** The import that begins with the page, and not only after the response about the session, if the URL names the view. */
let firstImport = location.hash === hrefOf('fleet') ? importView() : undefined;
// The component handles a failure when it is shown.
firstImport?.catch(() => undefined);

/** Loads the view with its chart library when it is first shown. */
export function LazyFleetView() {
  const [View, setView] = useState<{ readonly component: FunctionComponent }>();
  const [isFailed, setIsFailed] = useState(false);
  const load = () => {
    setIsFailed(false);
    const loading = firstImport ?? importView();
    firstImport = undefined;
    loading.then(
      ({ FleetView }) => setView({ component: FleetView }),
      () => setIsFailed(true),
    );
  };
  useEffect(load, []);
  if (View) return <View.component />;
  if (isFailed) return <Unavailable text={messages.unavailable} retry={messages.retry} onRetry={load} />;
  return <Loading text={messages.fleet.waiting} />;
}
