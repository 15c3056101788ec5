import { formatNumber, formatTime, plural, formatUtcDay } from '../../shared/dates/dates.js';
import { formatShortTime } from '../parts/dates.js';
import { fill, t } from '../../shared/texts/text.js';
import { Notice } from '../../shared/notices/notice.js';
import { Loaded } from '../parts/loaded.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import type {
  ManifestListAnswer as Answer,
  PublishedManifest,
} from '../../../src/http/responses/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';

const ROWS_SHOWN_AT_FIRST = 10;
/** If the live manifest expires in less than this number of days, the page asks to renew it, and the service warns. */
const RENEWAL_DAYS = 14;
const texts = messages.service;

const COLUMNS: readonly Column<PublishedManifest>[] = [
  { name: texts.sequence, isRowHeader: true, cell: ({ sequence }) => formatNumber(sequence) },
  { name: texts.version, cell: ({ version }) => version },
  {
    name: texts.kind,
    cell: ({ withdrawal }) =>
      withdrawal ? <span class="tag warning">{texts.withdrawal}</span> : texts.publication,
  },
  { name: texts.published, cell: ({ published_at }) => formatShortTime(published_at) },
  { name: texts.expires, cell: ({ expires_at }) => formatUtcDay(expires_at) },
  {
    name: texts.minimum,
    cell: ({ minimum_license_expiry: minimum }) => (minimum ? formatUtcDay(minimum) : texts.anyLicense),
  },
];

export function Manifests() {
  const load = useLoad<Answer>('manifests');
  const { shown, showAllButton } = useFirstRows(load.data?.manifests ?? [], ROWS_SHOWN_AT_FIRST);
  return (
    <section class="flow" aria-labelledby="manifests">
      <h2 id="manifests">{texts.manifestsTitle}</h2>
      <Loaded load={load} loadingText={texts.manifestsWaiting}>
        {({ live, manifests }) => (
          <>
            {live ? (
              <LiveManifest {...live} />
            ) : (
              <p>{fill(texts.noneLive, { command: <code class="mono">mooring manifest publish</code> })}</p>
            )}
            {manifests.length > 0 && (
              <Table
                caption={texts.caption}
                columns={COLUMNS}
                rows={shown}
                idOf={({ sequence }) => `manifest-${sequence}`}
              />
            )}
            {showAllButton}
          </>
        )}
      </Loaded>
    </section>
  );
}

function LiveManifest({ sequence, version, expires_at, days_left }: NonNullable<Answer['live']>) {
  const kind = days_left < 0 ? 'danger' : days_left < RENEWAL_DAYS ? 'warning' : 'good';
  const sentence =
    days_left < 0 ? texts.liveOver : days_left === 0 ? texts.liveLastDay : plural(days_left, texts.liveDays);
  return (
    <Notice kind={kind}>
      <p>
        <strong>{t(texts.live, { version, sequence: formatNumber(sequence) })}</strong>{' '}
        {t(sentence, { time: formatTime(expires_at) })}
      </p>
      {kind !== 'good' && (
        <p>{fill(texts.renew, { command: <code class="mono">mooring manifest refresh</code> })}</p>
      )}
    </Notice>
  );
}
