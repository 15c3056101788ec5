import { useEffect, useState } from 'preact/hooks';

/*
 * Shortcuts of a single key, such as J and R, can be turned off in this browser, because a person who dictates, or who touches keys
 * without meaning to, would trigger them (WCAG 2.2, 2.1.4). The style sheet hides the hints about them then.
 */

/** The name under which the browser stores that the shortcuts are off. */
const STORAGE_NAME = 'plain-keys';
const OFF = 'off';
const { dataset } = document.documentElement;
const changes = new EventTarget();

export const arePlainKeysOn = (): boolean => dataset['plainKeys'] !== OFF;

/** Returns whether the shortcuts are on, and renders the component again when that changes. */
export function usePlainKeys(): boolean {
  const [isOn, setIsOn] = useState(arePlainKeysOn());
  useEffect(() => {
    const read = () => setIsOn(arePlainKeysOn());
    changes.addEventListener('change', read);
    return () => changes.removeEventListener('change', read);
  }, []);
  return isOn;
}

/** Turns the shortcuts on or off, also for later visits. @returns whether the browser has stored the choice */
export function turnPlainKeys(isOn: boolean): boolean {
  apply(isOn ? null : OFF);
  try {
    if (isOn) localStorage.removeItem(STORAGE_NAME);
    else localStorage.setItem(STORAGE_NAME, OFF);
    return true;
  } catch {
    return false;
  }
}

/** Reads what this browser remembers, and follows changes in other tabs. */
export function followPlainKeys(): void {
  try {
    apply(localStorage.getItem(STORAGE_NAME));
  } catch {
    // The browser stores nothing for this site.
  }
  // When another tab clears the whole storage, the key is null, and so is the new value.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === null || key === STORAGE_NAME) apply(newValue);
  });
}

function apply(stored: string | null): void {
  if (stored === OFF) dataset['plainKeys'] = OFF;
  else delete dataset['plainKeys'];
  changes.dispatchEvent(new Event('change'));
}
