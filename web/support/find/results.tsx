import { LICENSES_PAGE_SIZE } from '../../../src/fields/licenses-page-size.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { Notice } from '../../shared/notices/notice.js';
import { EXPIRY_COLUMN, licenseColumn, MACHINES_COLUMN, STATUS_COLUMN } from '../license/license-columns.js';
import { Table, type Column } from '../parts/table.js';
import { hrefOf } from '../route.js';
import type { LicenseView } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import type { QueryKind } from './queries.js';

const texts = messages.find;

const HOLDER_COLUMN: Column<LicenseView> = {
  name: texts.holder,
  cell: ({ email, is_address_lost }) =>
    email ? (
      <UntrustedText text={email} />
    ) : (
      <span class="quiet">{is_address_lost ? texts.addressLost : texts.erased}</span>
    ),
};
const OTHER_COLUMNS: readonly Column<LicenseView>[] = [
  HOLDER_COLUMN,
  STATUS_COLUMN,
  EXPIRY_COLUMN,
  MACHINES_COLUMN,
];

/** Says how many licenses were found, and by what. */
export function foundText({ kind, licenses: { length } }: Pick<Props, 'kind' | 'licenses'>): string {
  const found =
    length < LICENSES_PAGE_SIZE
      ? plural(length, texts.found)
      : t(texts.foundAtLimit, { count: formatNumber(length) });
  return `${found}. ${t(texts.caption, { kind: texts.kinds[kind] })}.`;
}

interface Props {
  readonly kind: QueryKind;
  readonly licenses: readonly LicenseView[];
  readonly activationId: string | undefined;
  readonly isMistyped: boolean | undefined;
}

/**
 * What a search found. If it found one license, or those of an address, another view is opened at once, so these results are seen
 * only after going back.
 */
export function Results({ kind, licenses, activationId, isMistyped }: Props) {
  const [first, ...others] = licenses;
  if (!first)
    return (
      <Notice kind="warning">
        <p>
          <strong>{texts.none[kind]}</strong>
        </p>
        <p>{isMistyped ? texts.mistyped : texts.noneHints[kind]}</p>
      </Notice>
    );
  if (others.length > 0 && kind === 'email')
    return (
      <p>
        <a href={hrefOf('holder', first.id)}>{texts.several}</a>
      </p>
    );
  return (
    <Table
      caption={foundText({ kind, licenses })}
      columns={[licenseColumn(activationId), ...OTHER_COLUMNS]}
      rows={licenses}
      idOf={({ id }) => id}
    />
  );
}
