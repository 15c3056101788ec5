import { utcDay } from './dates.js';
import { t } from './text.js';

interface Expiring {
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
}

/** The five sentences about an expiry; `{day}` is the last day (UTC) on which the license has not expired. */
type ExpiryTexts = Readonly<Record<'never' | 'updates' | 'updatesOver' | 'runs' | 'runsOver', string>>;

/** What the expiry of a license means: whether updates end with it, or the application stops. */
export function expiryText({ expires_at, on_expiry }: Expiring, texts: ExpiryTexts): string {
  if (expires_at === null) return texts.never;
  const end = Date.parse(expires_at);
  const isOver = end <= Date.now();
  const [through, over] =
    on_expiry === 'keep' ? [texts.updates, texts.updatesOver] : [texts.runs, texts.runsOver];
  return t(isOver ? over : through, { day: utcDay(new Date(end - 1).toISOString()) });
}
