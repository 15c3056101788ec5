import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { announce, focusFirstError, frontDialog } from '../../shared/notices/announcer.js';
import { Button } from '../../shared/forms/button.js';
import { Loading } from '../../shared/notices/loading.js';
import { Notice } from '../../shared/notices/notice.js';
import { call } from '../call.js';
import { startSearch } from '../parts/search-shortcut.js';
import { IssueDialog } from '../license/issue-dialog.js';
import { memberErrors, problemText } from '../parts/problem-text.js';
import { t } from '../../shared/texts/text.js';
import { useAction } from '../../shared/forms/action.js';
import { isMistyped } from '../../shared/forms/mistyped-key.js';
import { ViewTitle } from '../parts/view-title.js';
import { goTo } from '../route.js';
import type { LicenseSearchAnswer, LicenseView } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { readQueries, type QueryKind } from './queries.js';
import { foundText, Results } from './results.js';
import { SearchForm } from './search-form.js';

/** What a search found. */
interface Result {
  /** The kind of search that found the licenses; without a result, the first kind of `readQueries`. */
  readonly kind: QueryKind;
  readonly licenses: readonly LicenseView[];
  /** The id of the activation that was found, in lower case as the service writes it. */
  readonly activationId?: string | undefined;
  /** Whether the text that was searched is a mistyped license key. The text in the field may have changed since. */
  readonly isMistyped?: boolean;
}

/** The text in the search field, and the result of the last search. Before the result, `kind` is the kind that is tried first. */
interface Search extends Partial<Result> {
  readonly text: string;
  readonly kind: QueryKind;
  /** What was searched last. */
  readonly query?: string;
}

export const EMPTY_SEARCH: Search = { text: '', kind: 'email' };

/** Replaces a license in the results by its current state, so that going back to the results does not show an old state. */
export const withLicense = (search: Search, license: LicenseView): Search => ({
  ...search,
  ...(search.licenses && {
    licenses: search.licenses.map((each) => (each.id === license.id ? license : each)),
  }),
});

interface Props {
  readonly search: Search;
  readonly setSearch: (change: (before: Search) => Search) => void;
  readonly isAdmin: boolean;
}

export function FindView({ search, setSearch, isAdmin }: Props) {
  const { find: texts } = messages;
  const form = useRef<HTMLFormElement>(null);
  const action = useAction();
  const [isTextMissing, setIsTextMissing] = useState(false);
  const [isIssuing, setIsIssuing] = useState(false);
  const { text, kind, licenses, activationId } = search;
  const textError = isTextMissing ? texts.empty : memberErrors(action.error)[kind];

  // `startSearch` only focuses the field and selects its text. An effect after the first paint would select what was typed by then.
  useLayoutEffect(() => startSearch(form.current!.querySelector('input')!), []);

  async function runSearch() {
    const query = text.trim();
    setIsTextMissing(query === '');
    if (query === '') {
      // The result of an earlier search does not belong to this message.
      setSearch(({ kind }) => ({ text, kind }));
      return focusFirstError(form.current!);
    }
    setSearch(() => ({ text, query, kind: readQueries(query)[0].kind }));
    const hasSucceeded = await action.run(async () => {
      const result = await findByAnyKind(query);
      // Another text may have been searched meanwhile, after this view was opened again.
      setSearch((before) => (before.query === query ? { ...before, ...result } : before));
      // If another view or a dialog was opened meanwhile, it stays open.
      if (form.current && !frontDialog()) showResult(result);
    });
    if (!hasSucceeded && form.current) focusFirstError(form.current);
  }

  return (
    <div class="flow">
      <ViewTitle focus={false}>{texts.title}</ViewTitle>
      <SearchForm
        form={form}
        text={text}
        error={textError}
        busy={action.busy}
        onText={(typed) => {
          setIsTextMissing(false);
          setSearch((before) => ({ ...before, text: typed }));
        }}
        onSearch={runSearch}
      >
        {isAdmin && <Button onClick={() => setIsIssuing(true)}>{messages.issue.button}</Button>}
      </SearchForm>
      {action.busy && <Loading text={t(texts.searching, { kind: texts.kinds[kind] })} />}
      {action.error !== undefined && !textError && <Notice kind="danger">{problemText(action.error)}</Notice>}
      {licenses && (
        <Results kind={kind} licenses={licenses} activationId={activationId} isMistyped={search.isMistyped} />
      )}
      {isIssuing && <IssueDialog onClose={() => setIsIssuing(false)} />}
    </div>
  );
}

/** Searches by each kind that the text may be, until a license is found. If none is found, the result has the first kind. */
async function findByAnyKind(text: string): Promise<Result> {
  const queries = readQueries(text);
  for (const { kind, text: cleaned } of queries) {
    const { licenses } = await call<LicenseSearchAnswer>('POST', 'licenses/search', { [kind]: cleaned });
    if (licenses.length > 0)
      return { kind, licenses, activationId: kind === 'activation_id' ? cleaned.toLowerCase() : undefined };
  }
  const [{ kind }] = queries;
  return { kind, licenses: [], isMistyped: kind === 'license_key' && isMistyped(text) };
}

/** Announces the result, and opens the license, or the list of the holder if an address has several. */
function showResult({ kind, licenses, activationId }: Result): void {
  const { find: texts } = messages;
  const [first, ...others] = licenses;
  if (!first) return announce(texts.none[kind]);
  if (others.length > 0) {
    // The licenses of a transaction may have different holders, so they are shown here.
    if (kind !== 'email') return announce(foundText({ kind, licenses }));
    // The list announces how many there are, because the search returns at most 50.
    announce(texts.openedSeveral);
    return goTo('holder', first.id);
  }
  announce(t(texts.opened, { kind: texts.kinds[kind] }));
  goTo('license', first.id, activationId);
}
