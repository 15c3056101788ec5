import { useEffect, useState } from 'preact/hooks';
import { frontDialog } from '../shared/notices/announcer.js';

const VIEWS = [
  'find',
  'license',
  'holder',
  'requests',
  'erasures',
  'fleet',
  'service',
  'audit',
  'staff',
  'account',
] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /**
   * The id of a license, which reveals nothing about a person. The view `holder` has the id of one license of the holder. The audit
   * trail has its filters and its cursor here.
   */
  readonly id: string;
  /**
   * What else the view shows. Of a license, the id of an activation, which is listed first. Of the licenses of a holder, the status
   * that they are limited to, what they are sorted by, and the position of the page.
   */
  readonly details: readonly string[];
}

/**
 * @param details the further parts of the route (`id` and `details` of `Route`); an empty or undefined part is left out
 */
export const hrefOf = (view: View, ...details: (string | undefined)[]) =>
  `#${[view, ...details.filter(Boolean)].join('/')}`;

export function goTo(view: View, ...details: (string | undefined)[]): void {
  location.hash = hrefOf(view, ...details);
}

/**
 * Returns the view that the URL names, also after the browser went back or forward. While a dialog is open the view stays, because
 * the dialog would disappear with it: going back then asks the dialog to close, as Escape does.
 */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    let shown = location.hash;
    // Older browsers have no `navigation`. There, going back still leaves the view.
    let entry = window.navigation?.currentEntry;
    const readHash = () => {
      const dialog = frontDialog();
      if (dialog && entry && location.hash !== shown) {
        returnTo(entry);
        dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
        return;
      }
      shown = location.hash;
      entry = window.navigation?.currentEntry;
      setHash(shown);
    };
    addEventListener('hashchange', readHash);
    // An effect runs after the first paint, so the URL may have changed since the first render.
    readHash();
    return () => removeEventListener('hashchange', readHash);
  }, []);
  const [name = '', id = '', ...details] = hash.slice(1).split('/');
  const view = VIEWS.find((each) => each === name) ?? 'find';
  const isWithoutId = (view === 'license' || view === 'holder') && !id;
  return { view: isWithoutId ? 'find' : view, id, details };
}

/**
 * Goes to an entry of the history. A new entry would be worse: browsers skip entries that a page adds without a click or a key, so
 * the next step back would leave the page.
 */
function returnTo({ key }: NavigationHistoryEntry): void {
  const { committed, finished } = navigation.traverseTo(key);
  // These promises are rejected if the person goes back again meanwhile. That step is undone in the same way.
  for (const step of [committed, finished]) step?.catch(() => undefined);
}
