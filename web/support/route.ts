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
  /** Of a license: the one thing an address may hold, for it says nothing about a person. */
  readonly id: string;
}

export const hrefOf = (view: View, id = '') => (view === 'find' ? '#find' : `#${view}${id && `/${id}`}`);

export function goTo(view: View, id = ''): void {
  location.hash = hrefOf(view, id);
}

/** Where the address says we are; it changes with the browser's own back and forward. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    // An effect runs after the first paint: the address may have changed in between.
    follow();
    return () => removeEventListener('hashchange', follow);
  }, []);
  const [name = '', id = ''] = hash.slice(1).split('/');
  const view = VIEWS.find((each) => each === name) ?? 'find';
  return { view: view === 'license' && !id ? 'find' : view, id };
}
