import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../../shared/notices/loading.js';
import { Unavailable } from '../../shared/notices/unavailable.js';
import { messages } from '../messages.js';

/** Loads the view with its chart library when it is first shown. */
export function LazyFleetView() {
  const [View, setView] = useState<{ readonly component: FunctionComponent }>();
  const [isFailed, setIsFailed] = useState(false);
  const load = () => {
    setIsFailed(false);
    import('./fleet-view.js').then(
      ({ FleetView }) => setView({ component: FleetView }),
      () => setIsFailed(true),
    );
  };
  useEffect(load, []);
  if (View) return <View.component />;
  if (isFailed) return <Unavailable text={messages.unavailable} retry={messages.retry} onRetry={load} />;
  return <Loading text={messages.fleet.waiting} />;
}
