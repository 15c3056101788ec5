import { formatDay, formatTime } from './dates.js';

interface Props {
  readonly at: string;
  /** A short form of the time; without it, the day. */
  readonly text?: string;
}

/** A short form of a time; the exact time and its time zone appear on hover and on focus, until Escape hides them. */
export function ExactTime({ at, text = formatDay(at) }: Props) {
  return (
    <time
      class="exact"
      dateTime={at}
      tabIndex={0}
      data-exact={formatTime(at)}
      onPointerEnter={showAgain}
      onFocus={showAgain}
    >
      {text}
    </time>
  );
}

const showAgain = ({ currentTarget }: { readonly currentTarget: HTMLElement }) =>
  delete currentTarget.dataset['hidden'];

// Escape does nothing else while an exact time is shown: it does not close the dialog around it.
addEventListener(
  'keydown',
  (event) => {
    if (event.key !== 'Escape') return;
    const shown = document.querySelectorAll<HTMLElement>('.exact:is(:hover, :focus):not([data-hidden])');
    for (const time of shown) time.dataset['hidden'] = '';
    if (shown.length > 0) event.preventDefault();
  },
  { capture: true },
);
