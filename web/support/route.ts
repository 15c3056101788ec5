import { useEffect, useState } from 'preact/hooks';

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
  /** The id of a license, which reveals nothing about a person; for the audit trail its filters. */
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

/** Returns the view that the URL names, also after the browser went back or forward. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const readHash = () => setHash(location.hash);
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
