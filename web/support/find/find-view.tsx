import { useEffect, useRef, useState } from 'preact/hooks';
import { announce, focusFirstError } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { plural } from '../../shared/dates.js';
import { Loading } from '../../shared/loading.js';
import { Notice } from '../../shared/notice.js';
import { call } from '../call.js';
import { IssueDialog } from '../license/issue-dialog.js';
import { memberErrors, problemText } from '../parts/problem-text.js';
import { t } from '../../shared/text.js';
import { useAction } from '../../shared/action.js';
import { ViewTitle } from '../parts/view-title.js';
import { goTo } from '../route.js';
import type { LicenseSearchAnswer, LicenseView } from '../../shared/api-types.js';
import { messages } from '../messages.js';
import { queryKinds, type QueryKind } from './query-kinds.js';
import { Results } from './results.js';
import { SearchForm } from './search-form.js';

/** What is in the box, and what was found by it. */
export interface Sought {
  readonly text: string;
  readonly kind: QueryKind;
  readonly licenses?: readonly LicenseView[];
}

export const NOTHING_SOUGHT: Sought = { text: '', kind: 'email' };

/** What was found, with a license as it is now: the way back must not lead to how it was. */
export const withLicense = (sought: Sought, license: LicenseView): Sought => ({
  ...sought,
  ...(sought.licenses && {
    licenses: sought.licenses.map((each) => (each.id === license.id ? license : each)),
  }),
});

interface Props {
  readonly sought: Sought;
  readonly onSought: (change: (before: Sought) => Sought) => void;
  readonly isAdmin: boolean;
}

export function FindView({ sought, onSought, isAdmin }: Props) {
  const { find: texts } = messages;
  const form = useRef<HTMLFormElement>(null);
  const action = useAction();
  const [isEmpty, setEmpty] = useState(false);
  const [issuing, setIssuing] = useState(false);
  const { text, kind, licenses } = sought;
  const wrong = isEmpty ? texts.empty : memberErrors(action.error)[kind];

  // With several results, the results get the focus.
  useEffect(() => {
    if ((licenses?.length ?? 0) < 2) form.current?.querySelector('input')?.focus();
  }, []);

  async function search() {
    const wanted = text.trim();
    setEmpty(wanted === '');
    if (wanted === '') return focusFirstError(form.current!);
    onSought(() => ({ text, kind: queryKinds(wanted)[0] }));
    const found = await action.run(async () => {
      const result = await findBy(wanted);
      onSought((before) => ({ ...before, ...result }));
      // A person who has opened another view meanwhile stays there.
      if (form.current) tell(wanted, result);
    });
    if (!found && form.current) focusFirstError(form.current);
  }

  return (
    <div class="flow">
      <ViewTitle focus={false}>{texts.title}</ViewTitle>
      <SearchForm
        form={form}
        text={text}
        error={wrong}
        busy={action.busy}
        onText={(typed) => {
          setEmpty(false);
          onSought((before) => ({ ...before, text: typed }));
        }}
        onSearch={search}
      >
        {isAdmin && <Button onClick={() => setIssuing(true)}>{messages.issue.button}</Button>}
      </SearchForm>
      {action.busy && <Loading text={t(texts.searching, { kind: texts.kinds[kind] })} />}
      {action.error !== undefined && !wrong && <Notice kind="danger">{problemText(action.error)}</Notice>}
      {licenses && <Results text={text} kind={kind} licenses={licenses} />}
      {issuing && <IssueDialog onClose={() => setIssuing(false)} />}
    </div>
  );
}

interface Result {
  readonly kind: QueryKind;
  readonly licenses: readonly LicenseView[];
}

/** Searches by each kind that the text may be, until one finds something. @returns otherwise the result of the first kind */
async function findBy(text: string): Promise<Result> {
  const kinds = queryKinds(text);
  for (const kind of kinds) {
    const { licenses } = await call<LicenseSearchAnswer>('POST', 'licenses/search', { [kind]: text });
    if (licenses.length > 0) return { kind, licenses };
  }
  return { kind: kinds[0], licenses: [] };
}

function tell(text: string, { kind, licenses }: Result): void {
  const { find: texts } = messages;
  const [only, ...others] = licenses;
  if (!only) return announce(texts.none[kind]);
  if (others.length > 0) return announce(plural(licenses.length, texts.found));
  announce(t(texts.opened, { kind: texts.kinds[kind] }));
  goTo('license', only.id, kind === 'activation_id' ? text : undefined);
}
