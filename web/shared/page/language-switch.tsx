import { useId } from 'preact/hooks';
import { availableLanguages, chooseLanguage, currentLanguage } from './language.js';
import { common } from '../texts/messages.js';
import { removeError, toastError } from '../notices/toast.js';

/** A field of the footer in which the reader chooses the language of the page. */
export function LanguageSwitch() {
  const id = useId();
  const choose = (select: HTMLSelectElement) => {
    // The error of an earlier choice would stay, in the earlier language.
    removeError(common.languageFailed);
    return chooseLanguage(select.value).catch(() => {
      select.value = currentLanguage();
      toastError(common.languageFailed);
    });
  };
  return (
    <p class="language">
      <label for={id}>{common.language}</label>
      <select id={id} value={currentLanguage()} onChange={(event) => void choose(event.currentTarget)}>
        {availableLanguages().map((tag) => (
          <option key={tag} value={tag} lang={tag}>
            {ownName(tag)}
          </option>
        ))}
      </select>
    </p>
  );
}

/** The name of a language in that language: `Français`. */
function ownName(tag: string): string {
  const name = new Intl.DisplayNames([tag, 'en'], { type: 'language' }).of(tag) ?? tag;
  const [first = '', ...rest] = name;
  return first.toLocaleUpperCase(tag) + rest.join('');
}
