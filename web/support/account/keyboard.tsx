import { useState } from 'preact/hooks';
import { t } from '../../shared/texts/text.js';
import { turnPlainKeys, usePlainKeys } from '../parts/plain-keys.js';
import { SEARCH_KEY } from '../parts/search-shortcut.js';
import { messages } from '../messages.js';

const texts = messages.keyboard;

/** Turns the shortcuts of a single key on or off. */
export function Keyboard() {
  const isOn = usePlainKeys();
  const [isRemembered, setIsRemembered] = useState(true);
  const toggle = () => setIsRemembered(turnPlainKeys(!isOn));
  return (
    <section class="flow" aria-labelledby="keyboard">
      <h2 id="keyboard">{texts.title}</h2>
      <label class="check">
        <input type="checkbox" checked={isOn} aria-describedby="keyboard-hint" onChange={toggle} />
        {texts.plainKeys}
      </label>
      <p id="keyboard-hint" class="quiet small">
        {t(texts.hint, { keys: SEARCH_KEY })}
      </p>
      <p role="status">{!isRemembered && texts.notRemembered}</p>
    </section>
  );
}
