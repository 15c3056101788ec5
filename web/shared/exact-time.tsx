import { formatDay, formatTime } from './dates.js';

/** A day; its exact time and time zone appear on hover and on focus. */
export function ExactTime({ at }: { at: string }) {
  return (
    <time class="exact" dateTime={at} tabIndex={0} data-exact={formatTime(at)}>
      {formatDay(at)}
    </time>
  );
}
