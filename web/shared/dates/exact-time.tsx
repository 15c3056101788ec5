import { formatDay, formatTime } from './dates.js';

interface Props {
  readonly at: string;
  /** A short form of the time; without it, the day. */
  readonly text?: string;
}

/** A short form of a time; the exact time and its time zone appear on hover and on focus. */
export function ExactTime({ at, text = formatDay(at) }: Props) {
  return (
    <time class="exact" dateTime={at} tabIndex={0} data-exact={formatTime(at)}>
      {text}
    </time>
  );
}
