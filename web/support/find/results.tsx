import { t, UntrustedText } from '../../shared/texts/text.js';
import { plural } from '../../shared/dates/dates.js';
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

interface Props {
  readonly kind: QueryKind;
  readonly licenses: readonly LicenseView[];
  readonly activationId: string | undefined;
  readonly isMistyped: boolean | undefined;
}

/** What a search found. If it found licenses, another view is opened at once, so the results are seen only after going back. */
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
  if (others.length > 0)
    return (
      <p>
        <a href={hrefOf('holder', first.id)}>{texts.several}</a>
      </p>
    );
  const foundByText = t(texts.caption, { kind: texts.kinds[kind] });
  return (
    <Table
      caption={`${plural(licenses.length, texts.found)}. ${foundByText}.`}
      columns={[licenseColumn(activationId), ...OTHER_COLUMNS]}
      rows={licenses}
      idOf={({ id }) => id}
    />
  );
}
