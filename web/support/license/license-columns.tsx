import { formatNumber } from '../../shared/dates/dates.js';
import { expiryText } from '../../shared/dates/expiry.js';
import { t } from '../../shared/texts/text.js';
import type { Column } from '../parts/table.js';
import { hrefOf } from '../route.js';
import type { LicenseLine } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { Status } from './status.js';

// The columns that several tables of licenses share. Their names are among the texts of the view `find`.
const texts = messages.find;

/** @param activationId the id of the activation that the linked page lists first; undefined for none */
export const licenseColumn = (activationId?: string): Column<LicenseLine> => ({
  name: texts.license,
  isRowHeader: true,
  cell: ({ id, key_hint }) => (
    <a href={hrefOf('license', id, activationId)} aria-label={t(texts.keyLabel, { hint: key_hint })}>
      {t(texts.keyHint, { hint: key_hint })}
    </a>
  ),
});
export const STATUS_COLUMN: Column<LicenseLine> = {
  name: texts.status,
  cell: (license) => <Status license={license} />,
};
export const EXPIRY_COLUMN: Column<LicenseLine> = {
  name: texts.expiry,
  cell: (license) => expiryText(license, messages.license.expiry),
};
export const MACHINES_COLUMN: Column<LicenseLine> = {
  name: texts.machines,
  cell: ({ machines_in_use, machines_allowed }) =>
    t(texts.machinesOf, { used: formatNumber(machines_in_use), allowed: formatNumber(machines_allowed) }),
};
