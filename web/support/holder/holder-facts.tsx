import { formatNumber } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { Copyable } from '../parts/copyable.js';
import { Fact } from '../parts/fact.js';
import type { HolderLicensesPage, LicenseLine } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

const STATUSES: readonly LicenseLine['status'][] = ['active', 'suspended', 'revoked', 'refunded'];
const texts = messages.holder;

/** The address of a holder, and how many licenses they have with each status. */
export function HolderFacts({ page: { email, counts } }: { page: HolderLicensesPage }) {
  return (
    <dl class="facts">
      <Fact name={messages.account.email}>
        <Copyable text={email} what={messages.find.kinds.email} />
      </Fact>
      <Fact name={texts.licenses}>
        {STATUSES.filter((status) => counts[status] > 0)
          .map((status) => t(texts.counts[status], { count: formatNumber(counts[status]) }))
          .join(', ')}
      </Fact>
    </dl>
  );
}
