import { announce } from '../../shared/notices/announcer.js';
import { createButton, createToast, removeToast, showToast } from '../../shared/notices/toast.js';
import { arePlainKeysOn } from './plain-keys.js';

interface ToastButton {
  readonly text: string;
  /** The full accessible name, which begins with the visible text. */
  readonly label: string;
  /** The key that has the same effect. */
  readonly shortcut: string;
  readonly onClick: () => void;
}

/**
 * Shows a message with a button, and announces it. It stays, beside others, until it is removed.
 * @param durationMs the time after which the caller removes it; a bar shows how much of it is left
 * @returns a function that removes it
 */
export function toastWithButton(text: string, button: ToastButton, durationMs: number): () => void {
  announce(text);
  const element = createToast('toast', text);
  const control = createButton(button.text, button.onClick);
  control.ariaLabel = button.label;
  if (arePlainKeysOn()) control.ariaKeyShortcuts = button.shortcut;
  const bar = document.createElement('span');
  bar.className = 'remaining';
  element.append(control, bar);
  showToast(element);
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches)
    bar.animate([{ scale: '1 1' }, { scale: '0 1' }], { duration: durationMs, fill: 'forwards' });
  return () => removeToast(element);
}
