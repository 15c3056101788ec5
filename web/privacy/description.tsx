import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** The descriptions that have no translation into the language of the page. */
export const Untranslated = createContext<readonly string[]>([]);

/**
 * A description from the service, marked as English if it has no translation.
 * @param isTitle whether the full stop at its end is left out
 */
export function Description({ text, isTitle = false }: { text: string; isTitle?: boolean }) {
  const shown = isTitle ? text.replace(/[.。]$/, '') : text;
  return useContext(Untranslated).includes(text) ? <span lang="en">{shown}</span> : <>{shown}</>;
}
