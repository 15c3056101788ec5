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

/**
 * Loads on-demand.ts, which the first view of the page does not need. If an update of the service has renamed its files, or the
 * browser keeps the failed module, the whole page is loaded again. @param keep called before that @throws ServiceUnavailable
 */
export const loadOnDemand = (keep = () => {}): Promise<void> => load().catch(() => reloadPage(keep));

/** Loads on-demand.ts early. If that fails, `loadOnDemand` tries it again. */
export const preload = (): Promise<void> => load().catch(() => {});

async function reloadPage(keep: () => void): Promise<never> {
  await reachService();
  keep();
  location.reload();
  return new Promise(() => {});
}

/** @throws ServiceUnavailable if the service does not answer */
const reachService = () =>
  readHolder().catch((error: unknown) => {
    if (error instanceof ServiceUnavailable) throw error;
  });
