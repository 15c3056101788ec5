import { ServiceUnavailable } from '../shared/api/api.js';
import { readHolder } from './portal-api.js';

/** What on-demand.ts exports. It is undefined until `loadOnDemand` or `preload` has succeeded. */
export let onDemand: typeof import('./on-demand.js');

async function load(): Promise<void> {
  if (onDemand) return;
  // Some browsers keep a module that they could not load, and do not request it again.
  if (!navigator.onLine) await reachService();
  onDemand = await import('./on-demand.js');
}

/** Loads on-demand.ts, which the first view of the page does not need. @throws ServiceUnavailable */
export const loadOnDemand = (): Promise<void> => load().catch(reloadPage);

/** Loads on-demand.ts early. If that fails, `loadOnDemand` tries it again. */
export const preload = (): Promise<void> => load().catch(() => {});

/** Loads the whole page again, because an update of the service has renamed its files, or the browser keeps the failed module. */
async function reloadPage(): Promise<never> {
  await reachService();
  location.reload();
  return new Promise(() => {});
}

/** @throws ServiceUnavailable if the service does not answer */
const reachService = () =>
  readHolder().catch((error: unknown) => {
    if (error instanceof ServiceUnavailable) throw error;
  });
