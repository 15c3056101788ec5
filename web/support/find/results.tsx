import { useEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { number, plural } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { Notice } from '../../shared/notice.js';
import { Expiry } from '../license/expiry.js';
import { Status } from '../license/status.js';
import { say as put } from '../../shared/say.js';
import { Table, type Column } from '../parts/table.js';
import { useFew } from '../parts/use-few.js';
import { hrefOf } from '../route.js';
import type { License } from '../types.js';
import { words } from '../words.js';
import type { QueryKind } from './kind-of-query.js';

const FEW = 50;
const say = words.find;

const COLUMNS: readonly Column<License>[] = [
  {
    name: say.license,
    head: true,
    cell: ({ id, key_hint }) => (
      <a href={hrefOf('license', id)} aria-label={put(say.keyLabel, { hint: key_hint })}>
        {put(say.keyHint, { hint: key_hint })}
      </a>
    ),
  },
  {
    name: say.holder,
    cell: ({ email, is_address_lost }) =>
      email ? (
        <Stranger text={email} />
      ) : (
        <span class="quiet">{is_address_lost ? say.addressLost : say.erased}</span>
      ),
  },
  { name: say.status, cell: (license) => <Status license={license} /> },
  { name: say.expiry, cell: (license) => <Expiry license={license} /> },
  {
    name: say.machines,
    cell: ({ machines_in_use, machines_allowed }) =>
      put(say.machinesOf, { used: number(machines_in_use), allowed: number(machines_allowed) }),
  },
];

/** What was found; a single license is open already, and stands here for who comes back. */
export function Results({ kind, licenses }: { kind: QueryKind; licenses: readonly License[] }) {
  const section = useRef<HTMLElement>(null);
  const { shown, more } = useFew(licenses, FEW);
  useEffect(() => {
    if (licenses.length > 1) moveFocus(section.current);
  }, [licenses]);
  const byKind = put(say.caption, { kind: say.kinds[kind] });
  if (licenses.length === 0)
    return (
      <Notice kind="warning">
        <p>
          <strong>{put(say.none, { kind: say.kinds[kind] })}</strong>
        </p>
        <p>{say.noneHints[kind]}</p>
      </Notice>
    );
  return (
    <section ref={section} class="flow" aria-label={byKind}>
      <Table
        caption={`${plural(licenses.length, say.found)}. ${byKind}.`}
        columns={COLUMNS}
        rows={shown}
        idOf={({ id }) => id}
      />
      {more}
    </section>
  );
}
