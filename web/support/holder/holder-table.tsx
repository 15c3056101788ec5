import { ExactTime } from '../../shared/dates/exact-time.js';
import { EXPIRY_COLUMN, licenseColumn, MACHINES_COLUMN, STATUS_COLUMN } from '../license/license-columns.js';
import { Table, type Column } from '../parts/table.js';
import type { LicenseLine } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

const ISSUED_COLUMN: Column<LicenseLine> = {
  name: messages.license.facts.created,
  cell: ({ created_at }) => <ExactTime at={created_at} />,
};
const COLUMNS: readonly Column<LicenseLine>[] = [
  licenseColumn(),
  STATUS_COLUMN,
  ISSUED_COLUMN,
  EXPIRY_COLUMN,
  MACHINES_COLUMN,
];

interface Props {
  readonly caption: string;
  readonly licenses: readonly LicenseLine[];
}

/** One page of the licenses of a holder. */
export function HolderTable({ caption, licenses }: Props) {
  return <Table caption={caption} columns={COLUMNS} rows={licenses} idOf={({ id }) => id} hasRowShortcuts />;
}
