import { formatUtcDay } from './dates.js';
import { serviceTime } from './service-time.js';
import { t } from '../texts/text.js';

interface Expiring {
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
}

/** The five sentences about an expiry; `{day}` is the last day (UTC) on which the license has not expired. */
type ExpiryTexts = Readonly<Record<'never' | 'updates' | 'updatesOver' | 'runs' | 'runsOver', string>>;

/** The last day (UTC, `2027-01-03`) on which a license has not expired. */
export const lastDay = (expires_at: string) =>
  new Date(Date.parse(expires_at) - 1).toISOString().slice(0, 10);

/** The expiry (`2027-01-04`) of a license with this last day. */
export const expiryAfter = (day: string) => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);

/** Returns the sentence about the expiry of a license, at which either its updates end or the application stops. */
export function expiryText({ expires_at, on_expiry }: Expiring, texts: ExpiryTexts): string {
  if (expires_at === null) return texts.never;
  const isOver = Date.parse(expires_at) <= serviceTime();
  const [through, over] =
    on_expiry === 'keep' ? [texts.updates, texts.updatesOver] : [texts.runs, texts.runsOver];
  return t(isOver ? over : through, { day: formatUtcDay(lastDay(expires_at)) });
}
