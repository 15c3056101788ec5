import { ServiceUnavailable } from '../shared/api/api.js';
import { kept, keepForm } from './kept-form.js';
import { readHolder } from './portal-api.js';

/**
 * In this time after a reload the page does not load itself again until a sign-in: if the file is still missing, a reload does not
 * help.
 */
const MIN_MS_BETWEEN_RELOADS = 60_000;

/** What on-demand.ts exports. It is undefined until `loadOnDemand` or `preload` has succeeded. */
export let onDemand: typeof import('./on-demand.js');

async function load(): Promise<void> {
  if (onDemand) return;
  // Some browsers never request a module again after a failure. So a device that reports no network first asks the service.
  if (!navigator.onLine) await reachService();
  onDemand = await import('./on-demand.js');
}

/**
 * Loads on-demand.ts, which the first view of the page does not need. If an update of the service has renamed its files, or the
 * browser keeps the failed module, the whole page is loaded again. @throws ServiceUnavailable
 */
export const loadOnDemand = (): Promise<void> => load().catch(reloadPage);

/** Loads on-demand.ts early. If that fails, `loadOnDemand` tries it again. */
export const preload = (): Promise<void> => load().catch(() => {});

async function reloadPage(): Promise<never> {
  await reachService();
  if (kept.isReload && performance.now() < MIN_MS_BETWEEN_RELOADS) throw new ServiceUnavailable(false);
  keepForm();
  location.reload();
  return new Promise(() => {});
}

/** @throws ServiceUnavailable if the service does not answer */
const reachService = () =>
  readHolder().catch((error: unknown) => {
    if (error instanceof ServiceUnavailable) throw error;
  });
