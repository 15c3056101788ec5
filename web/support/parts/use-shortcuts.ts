import { useLayoutEffect } from 'preact/hooks';
import { arePlainKeysOn } from './plain-keys.js';

/**
 * Calls `handle` for each key that is pressed while no dialog is open, and that no input method handles. The `handle` of the first
 * render is kept, so it must not read props or state.
 * @param handle returns whether the key was a shortcut, so that the browser must not handle it
 */
export function useShortcuts(handle: (event: KeyboardEvent) => boolean): void {
  // A layout effect runs before the next frame, so that a key that is pressed as soon as the rows are shown counts too.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.isComposing || document.querySelector('dialog[open]')) return;
      if (handle(event)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

/**
 * Whether a key can be a shortcut of a single key: such shortcuts are on, the key has no modifier except Shift, and it is not typed
 * into a field.
 */
export const isPlainKey = ({ metaKey, ctrlKey, altKey, target }: KeyboardEvent): boolean =>
  arePlainKeysOn() && !metaKey && !ctrlKey && !altKey && !isTextField(target);

/** Whether a person types into an element, or selects in it with keys. */
export const isTextField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('input:not([type="checkbox"]), textarea, select');
