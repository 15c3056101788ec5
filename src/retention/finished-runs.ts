/**
 * Returns the SQL condition of a retention run that has finished. A run that starts after now had a clock that was ahead, and is
 * ignored.
 * @param now the parameter of the statement with the time
 */
export const hasFinished = (now: `$${number}`): string => `finished_at is not null and started_at <= ${now}`;
