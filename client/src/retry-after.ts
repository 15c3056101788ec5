/**
 * Whether the `retry-after` of a response with this status is used even if the response counts as no answer. A proxy in front of
 * the service may answer with a body of its own.
 */
export const isBusy = (status: number) => status === 429 || status === 503;

/**
 * Returns the `retry-after` of a response in seconds. The header is a number or an HTTP date. A date is compared with the
 * response's own `date`, because this machine's clock may be wrong. `schedule.ts` and `waiting-activation.ts` limit the result.
 * @param now milliseconds since 1970, for a response without a `date`
 */
export function parseRetryAfter(response: Pick<Response, 'headers'>, now: number): number | undefined {
  const value = response.headers.get('retry-after');
  if (!value) return undefined;
  if (/^\d{1,12}$/.test(value)) return Number(value);
  const until = parseHttpDate(value);
  if (until === undefined) return undefined;
  return Math.max(0, (until - (parseHttpDate(response.headers.get('date')) ?? now)) / 1000);
}

const HTTP_DATE_LENGTH = 'Fri, 20 Nov 2026 13:00:00 GMT'.length;

/** Reads a date in the form of RFC 9110, such as `Fri, 20 Nov 2026 13:00:00 GMT`; undefined for any other text. */
function parseHttpDate(value: string | null): number | undefined {
  const milliseconds = Date.parse(value ?? '');
  // The comparison excludes the other forms that `Date.parse` reads, and days that the calendar lacks. The length excludes years of
  // more than four digits, and "Invalid Date", which `toUTCString` writes for a time that is not a number.
  const isHttpDate = value?.length === HTTP_DATE_LENGTH && new Date(milliseconds).toUTCString() === value;
  return isHttpDate ? milliseconds : undefined;
}
