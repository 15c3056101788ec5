/**
 * Returns the `retry-after` of a response in seconds. The header is a number or an HTTP date. A date is compared with the
 * response's own `date`, because this machine's clock may be wrong. `schedule.ts` limits the result.
 * @param now milliseconds since 1970, for a response without a `date`
 */
export function parseRetryAfter(response: Pick<Response, 'headers'>, now: number): number | undefined {
  const value = response.headers.get('retry-after');
  if (!value) return undefined;
  if (/^\d{1,12}$/.test(value)) return Number(value);
  if (!/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(value)) return undefined;
  const answeredAt = Date.parse(response.headers.get('date') ?? '');
  const seconds = (Date.parse(value) - (Number.isNaN(answeredAt) ? now : answeredAt)) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
