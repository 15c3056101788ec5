import { utcDay } from '../../shared/dates.js';
import { t } from '../../shared/text.js';
import type { LicenseView } from '../../shared/api-types.js';
import { messages } from '../messages.js';

/** What an expiry means: whether the app stops then, or only its updates. */
export function Expiry({
  license: { expires_at, on_expiry },
}: {
  license: Pick<LicenseView, 'expires_at' | 'on_expiry'>;
}) {
  const texts = messages.license.expiry;
  if (expires_at === null) return <>{texts.never}</>;
  const isOver = Date.parse(expires_at) <= Date.now();
  const sentence =
    on_expiry === 'keep' ? (isOver ? texts.keepOver : texts.keep) : isOver ? texts.stopOver : texts.stop;
  return <>{t(sentence, { day: utcDay(expires_at) })}</>;
}
