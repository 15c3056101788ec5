import { shortMoment, number, plural, utcDay } from '../../shared/dates.js';
import { fill, t } from '../../shared/text.js';
import { Notice } from '../../shared/notice.js';
import { Loaded } from '../parts/loaded.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import type { ManifestListAnswer as Answer } from '../../shared/api-types.js';
import type { Manifest } from '../types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';

const FEW = 10;
/** With so few days left it is time to renew it. */
const SOON_DAYS = 14;
const texts = messages.service;

const COLUMNS: readonly Column<Manifest>[] = [
  { name: texts.sequence, head: true, cell: ({ sequence }) => number(sequence) },
  { name: texts.version, cell: ({ version }) => version },
  {
    name: texts.kind,
    cell: ({ withdrawal }) =>
      withdrawal ? <span class="tag warning">{texts.withdrawal}</span> : texts.publication,
  },
  { name: texts.published, cell: ({ published_at }) => shortMoment(published_at) },
  { name: texts.expires, cell: ({ expires_at }) => utcDay(expires_at) },
  {
    name: texts.minimum,
    cell: ({ minimum_license_expiry: minimum }) => (minimum ? utcDay(minimum) : texts.anyLicense),
  },
];

export function Manifests() {
  const load = useLoad<Answer>('manifests');
  const few = useFew(load.data?.manifests ?? [], FEW);
  return (
    <section class="flow" aria-labelledby="manifests">
      <h2 id="manifests">{texts.manifestsTitle}</h2>
      <Loaded load={load} waiting={texts.manifestsWaiting}>
        {({ live, manifests }) => (
          <>
            {live ? <Live {...live} /> : <p>{texts.noneLive}</p>}
            {manifests.length > 0 && (
              <Table
                caption={texts.caption}
                columns={COLUMNS}
                rows={few.shown}
                idOf={({ sequence }) => `manifest-${sequence}`}
              />
            )}
            {few.more}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Live({ sequence, version, expires_at, days_left }: NonNullable<Answer['live']>) {
  const kind = days_left < 0 ? 'danger' : days_left <= SOON_DAYS ? 'warning' : 'good';
  const sentence =
    days_left < 0 ? texts.liveOver : days_left === 0 ? texts.liveToday : plural(days_left, texts.liveDays);
  return (
    <Notice kind={kind}>
      <p>
        <strong>{t(texts.live, { version, sequence: number(sequence) })}</strong>{' '}
        {t(sentence, { day: utcDay(expires_at) })}
      </p>
      {kind !== 'good' && (
        <p>{fill(texts.renew, { command: <code class="mono">mooring manifest refresh</code> })}</p>
      )}
    </Notice>
  );
}
