import { utcDay } from '../../shared/dates.js';
import { say as put } from '../../shared/say.js';
import type { License } from '../types.js';
import { words } from '../words.js';

/** What an expiry means: whether the app stops then, or only its updates. */
export function Expiry({
  license: { expires_at, on_expiry },
}: {
  license: Pick<License, 'expires_at' | 'on_expiry'>;
}) {
  const say = words.license.expiry;
  if (expires_at === null) return <>{say.never}</>;
  const isOver = Date.parse(expires_at) <= Date.now();
  const sentence =
    on_expiry === 'keep' ? (isOver ? say.keepOver : say.keep) : isOver ? say.stopOver : say.stop;
  return <>{put(sentence, { day: utcDay(expires_at) })}</>;
}
