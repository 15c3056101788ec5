import { useEffect } from 'preact/hooks';
import { ApiError } from '../../shared/api/api.js';
import { moveFocus } from '../../shared/notices/announcer.js';
import { Notice } from '../../shared/notices/notice.js';
import { ExactTime } from '../../shared/dates/exact-time.js';
import { Choice } from '../../shared/forms/choice.js';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { EXPIRY_COLUMN, licenseColumn, MACHINES_COLUMN, STATUS_COLUMN } from '../license/license-columns.js';
import { Loaded } from '../parts/loaded.js';
import { Table, type Column } from '../parts/table.js';
import { ViewTitle } from '../parts/view-title.js';
import { useRowShortcuts } from '../queues/row-keys.js';
import { hrefOf } from '../route.js';
import type { HolderLicensesPage, LicenseLine } from '../../../src/http/responses/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { HolderFacts } from './holder-facts.js';
import { holderHref, holderPath, type LicenseListQuery } from './holder-list.js';

const texts = messages.holder;
const ISSUED_COLUMN: Column<LicenseLine> = {
  name: messages.license.facts.created,
  cell: ({ created_at }) => <ExactTime at={created_at} />,
};
const COLUMNS = [licenseColumn(), STATUS_COLUMN, ISSUED_COLUMN, EXPIRY_COLUMN, MACHINES_COLUMN];

interface Props {
  /** The id of one of the licenses. The address of the holder is in no URL, because a browser keeps URLs in its history. */
  readonly id: string;
  readonly list: LicenseListQuery;
}

/** All licenses of one holder, in pages. */
export function HolderView({ id, list }: Props) {
  const load = useLoad<HolderLicensesPage>(holderPath(id, list));
  useRowShortcuts();
  const firstPage = holderHref(id, { ...list, cursor: '' });
  // The service refuses the cursor once the license has another address.
  const isPageGone = list.cursor !== '' && load.error instanceof ApiError && load.error.status === 422;
  const show = (change: Partial<LicenseListQuery>) =>
    (location.hash = holderHref(id, { ...list, cursor: '', ...change }));
  useEffect(() => {
    // The links "next" and "first" are removed while the next page of the list loads. If one of them had the focus, it is lost.
    if (document.activeElement === document.body) moveFocus(document.querySelector('h1'));
  }, [list.cursor]);
  return (
    <div class="flow">
      <p class="small">
        <a href={hrefOf('find')}>{messages.license.back}</a>
      </p>
      <ViewTitle>
        {load.data ? fill(texts.titleOf, { email: <UntrustedText text={load.data.email} /> }) : texts.title}
      </ViewTitle>
      <div class="filters">
        <Choice
          label={texts.filter}
          name="status"
          value={list.status}
          options={texts.statuses}
          onValue={(status) => show({ status })}
        />
        <Choice
          label={texts.sort}
          name="sort"
          value={list.sort}
          options={texts.sorts}
          onValue={(sort) => show({ sort })}
        />
      </div>
      <p class="unseen" role="status">
        {load.data && captionOf(load.data, list)}
      </p>
      {isPageGone ? (
        <Notice kind="warning">
          <p>{texts.pageGone}</p>
          <a href={firstPage}>{texts.first}</a>
        </Notice>
      ) : (
        <Loaded load={load} loadingText={texts.waiting} notFoundText={texts.notFound}>
          {(page) => (
            <>
              <HolderFacts page={page} />
              {page.licenses.length === 0 ? (
                <p>{texts.none}</p>
              ) : (
                <>
                  <Table
                    caption={captionOf(page, list)}
                    columns={COLUMNS}
                    rows={page.licenses}
                    idOf={({ id }) => id}
                    hasRowShortcuts
                  />
                  <p class="quiet small keyboard-hint">{texts.keyboardHint}</p>
                </>
              )}
              <p class="actions">
                {list.cursor && <a href={firstPage}>{texts.first}</a>}
                {page.next_cursor && (
                  <a href={holderHref(id, { ...list, cursor: page.next_cursor })} rel="next">
                    {texts.next}
                  </a>
                )}
              </p>
            </>
          )}
        </Loaded>
      )}
    </div>
  );
}

/** How many licenses the list has, and how many of them this page shows. */
function captionOf({ counts, licenses }: HolderLicensesPage, { status }: LicenseListQuery): string {
  const total =
    status === 'all' ? Object.values(counts).reduce((sum, count) => sum + count, 0) : counts[status];
  const all = plural(total, messages.find.found);
  return licenses.length === total ? all : t(texts.shownOf, { shown: formatNumber(licenses.length), all });
}
