import { useEffect } from 'preact/hooks';

/** Calls `follow` for each key. It returns whether the key was a shortcut. An open dialog keeps its keys. */
export function useShortcuts(follow: (event: KeyboardEvent) => boolean): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!document.querySelector('dialog[open]') && follow(event)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

/** Whether a key has no modifier and is not typed into a field. */
export const isPlainKey = ({ metaKey, ctrlKey, altKey, target }: KeyboardEvent): boolean =>
  !metaKey &&
  !ctrlKey &&
  !altKey &&
  !(target instanceof Element && target.matches('input, textarea, select'));
