import { shortMoment, number, plural, utcDay } from '../../shared/dates.js';
import { fill } from '../../shared/fill.js';
import { Notice } from '../../shared/notice.js';
import { Loaded } from '../parts/loaded.js';
import { say as put } from '../../shared/say.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import type { Manifest, Manifests as Answer } from '../types.js';
import { useLoad } from '../use-load.js';
import { words } from '../words.js';

const FEW = 10;
/** With so few days left it is time to renew it. */
const SOON_DAYS = 14;
const say = words.service;

const COLUMNS: readonly Column<Manifest>[] = [
  { name: say.sequence, head: true, cell: ({ sequence }) => number(sequence) },
  { name: say.version, cell: ({ version }) => version },
  {
    name: say.kind,
    cell: ({ withdrawal }) =>
      withdrawal ? <span class="tag warning">{say.withdrawal}</span> : say.publication,
  },
  { name: say.published, cell: ({ published_at }) => shortMoment(published_at) },
  { name: say.expires, cell: ({ expires_at }) => utcDay(expires_at) },
  {
    name: say.minimum,
    cell: ({ minimum_license_expiry: minimum }) => (minimum ? utcDay(minimum) : say.anyLicense),
  },
];

export function Manifests() {
  const load = useLoad<Answer>('manifests');
  const few = useFew(load.data?.manifests ?? [], FEW);
  return (
    <section class="flow" aria-labelledby="manifests">
      <h2 id="manifests">{say.manifestsTitle}</h2>
      <Loaded load={load} waiting={say.manifestsWaiting}>
        {({ live, manifests }) => (
          <>
            {live ? <Live {...live} /> : <p>{say.noneLive}</p>}
            {manifests.length > 0 && (
              <Table
                caption={say.caption}
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
    days_left < 0 ? say.liveOver : days_left === 0 ? say.liveToday : plural(days_left, say.liveDays);
  return (
    <Notice kind={kind}>
      <p>
        <strong>{put(say.live, { version, sequence: number(sequence) })}</strong>{' '}
        {put(sentence, { day: utcDay(expires_at) })}
      </p>
      {kind !== 'good' && (
        <p>{fill(say.renew, { command: <code class="mono">mooring manifest renew</code> })}</p>
      )}
    </Notice>
  );
}
