import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ServiceUnavailable } from '../../shared/api/api.js';
import { noteNoResponse, useReconnection } from '../../shared/api/connection.js';
import { useAction } from '../../shared/forms/action.js';
import { Loading } from '../../shared/notices/loading.js';
import type { FleetAnswer } from '../../../src/http/responses/api-types.js';
import { requireSession } from '../call.js';
import { messages } from '../messages.js';
import { LoadError } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import { useLoad } from '../use-load.js';
import type { FleetViewProps } from './fleet-view.js';

interface Props {
  /** Called before the whole page is loaded again. */
  readonly onReload: () => void;
}

/** Loads the view with its chart library when it is first shown. */
export function LazyFleetView({ onReload }: Props) {
  const [View, setView] = useState<{ readonly component: FunctionComponent<FleetViewProps> }>();
  const [weekCount, setWeekCount] = useState('12');
  // The counts are requested while the view is loaded.
  const load = useLoad<FleetAnswer>(`fleet?weeks=${weekCount}`);
  const [failure, setFailure] = useState<ServiceUnavailable>();
  useEffect(() => {
    import('./fleet-view.js').then(
      ({ FleetView }) => setView({ component: FleetView }),
      () => setFailure(new ServiceUnavailable(noteNoResponse())),
    );
  }, []);
  if (View) return <View.component load={load} weekCount={weekCount} onWeekCount={setWeekCount} />;
  if (failure) return <FleetUnavailable failure={failure} onReload={onReload} />;
  return <Loading text={messages.fleet.waiting} />;
}

/** Some browsers never request a failed module again. So the whole page is loaded again, but only if the service answers. */
function FleetUnavailable({ failure, onReload }: Props & { readonly failure: ServiceUnavailable }) {
  const { error = failure, busy, run } = useAction();
  const reload = () =>
    void run(async () => {
      await requireSession();
      onReload();
      location.reload();
    });
  useReconnection(reload);
  return (
    <div class="flow">
      <ViewTitle>{messages.fleet.title}</ViewTitle>
      <LoadError error={error} busy={busy} onRetry={reload} />
    </div>
  );
}
