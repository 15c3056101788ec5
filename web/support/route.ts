import { useEffect, useState } from 'preact/hooks';

export const VIEWS = [
  'find',
  'license',
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
  /** The id of one of its activations, which is shown first. */
  readonly activation: string;
}

/** @param ids of a license, and of one of its activations */
export const hrefOf = (view: View, ...ids: (string | undefined)[]) =>
  `#${[view, ...ids.filter(Boolean)].join('/')}`;

export function goTo(view: View, ...ids: (string | undefined)[]): void {
  location.hash = hrefOf(view, ...ids);
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
  const [name = '', id = '', activation = ''] = hash.slice(1).split('/');
  const view = VIEWS.find((each) => each === name) ?? 'find';
  return { view: view === 'license' && !id ? 'find' : view, id, activation };
}
