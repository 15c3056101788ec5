import { useEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { formatNumber, plural } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Notice } from '../../shared/notice.js';
import { Expiry } from '../license/expiry.js';
import { Status } from '../license/status.js';
import { Table, type Column } from '../parts/table.js';
import { useFirstRows } from '../parts/use-first-rows.js';
import { hrefOf } from '../route.js';
import type { LicenseView } from '../../shared/api-types.js';
import { isMistyped } from '../../shared/mistyped-key.js';
import { messages } from '../messages.js';
import type { QueryKind } from './query-kinds.js';

const ROWS_SHOWN_AT_FIRST = 50;
const texts = messages.find;

const COLUMNS: readonly Column<LicenseView>[] = [
  {
    name: texts.license,
    isRowHeader: true,
    cell: ({ id, key_hint }) => (
      <a href={hrefOf('license', id)} aria-label={t(texts.keyLabel, { hint: key_hint })}>
        {t(texts.keyHint, { hint: key_hint })}
      </a>
    ),
  },
  {
    name: texts.holder,
    cell: ({ email, is_address_lost }) =>
      email ? (
        <UntrustedText text={email} />
      ) : (
        <span class="quiet">{is_address_lost ? texts.addressLost : texts.erased}</span>
      ),
  },
  { name: texts.status, cell: (license) => <Status license={license} /> },
  { name: texts.expiry, cell: (license) => <Expiry license={license} /> },
  {
    name: texts.machines,
    cell: ({ machines_in_use, machines_allowed }) =>
      t(texts.machinesOf, { used: formatNumber(machines_in_use), allowed: formatNumber(machines_allowed) }),
  },
];

interface Props {
  readonly text: string;
  readonly kind: QueryKind;
  readonly licenses: readonly LicenseView[];
}

/** The search results. A single license is opened at once, so its row is only seen after going back. */
export function Results({ text, kind, licenses }: Props) {
  const section = useRef<HTMLElement>(null);
  const { shown, showAllButton } = useFirstRows(licenses, ROWS_SHOWN_AT_FIRST);
  useEffect(() => {
    if (licenses.length > 1) moveFocus(section.current);
  }, [licenses]);
  const foundByText = t(texts.caption, { kind: texts.kinds[kind] });
  if (licenses.length === 0)
    return (
      <Notice kind="warning">
        <p>
          <strong>{texts.none[kind]}</strong>
        </p>
        <p>{kind === 'license_key' && isMistyped(text) ? texts.mistyped : texts.noneHints[kind]}</p>
      </Notice>
    );
  return (
    <section ref={section} class="flow" aria-label={foundByText}>
      <Table
        caption={`${plural(licenses.length, texts.found)}. ${foundByText}.`}
        columns={COLUMNS}
        rows={shown}
        idOf={({ id }) => id}
      />
      {showAllButton}
    </section>
  );
}
