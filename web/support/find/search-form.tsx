import type { ComponentChildren, RefObject } from 'preact';
import { Button } from '../../shared/forms/button.js';
import { Field } from '../../shared/forms/field.js';
import { Form } from '../../shared/forms/form.js';
import { t } from '../../shared/texts/text.js';
import { SEARCH_KEY, useAriaSearchKeys } from '../parts/search-shortcut.js';
import { usePlainKeys } from '../parts/plain-keys.js';
import { messages } from '../messages.js';

interface Props {
  readonly form: RefObject<HTMLFormElement | null>;
  readonly text: string;
  readonly error: string | undefined;
  readonly busy: boolean;
  readonly onText: (text: string) => void;
  readonly onSearch: () => Promise<void>;
  /** Further buttons beside the search button. */
  readonly children: ComponentChildren;
}

/** The search field. The browser does not offer its text later, and sends it to no spelling checker. */
export function SearchForm({ form, text, error, busy, onText, onSearch, children }: Props) {
  const { find: texts } = messages;
  const ariaKeys = useAriaSearchKeys();
  const keys = usePlainKeys() ? t(texts.searchKeys, { key: SEARCH_KEY }) : SEARCH_KEY;
  return (
    <Form formRef={form} role="search" onSubmit={onSearch}>
      <Field
        label={texts.label}
        name="query"
        value={text}
        onValue={onText}
        hint={t(texts.hint, { keys })}
        error={error}
        input={{
          autocomplete: 'off',
          autocapitalize: 'off',
          spellcheck: false,
          'aria-keyshortcuts': ariaKeys,
        }}
      />
      <div class="actions">
        <Button type="submit" kind="primary" busy={busy}>
          {texts.button}
        </Button>
        {children}
      </div>
    </Form>
  );
}
