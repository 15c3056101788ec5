import { useEffect, useState } from 'preact/hooks';
import { isSignedOut } from '../../shared/api/api.js';
import { BrandMark, setTitle } from '../../shared/page/brand.js';
import { Button } from '../../shared/forms/button.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { Page } from '../../shared/page/page.js';
import { toastError } from '../../shared/notices/toast.js';
import { AccountView } from '../account/account-view.js';
import { AuditView } from '../admin/audit-view.js';
import { ServiceView } from '../admin/service-view.js';
import { StaffView } from '../admin/staff-view.js';
import { call, findSession } from '../call.js';
import { FindView, EMPTY_SEARCH, withLicense } from '../find/find-view.js';
import { keepSearchText, takeSearchText } from '../find/kept-search.js';
import { LazyFleetView } from '../fleet/lazy-fleet-view.js';
import { HolderView } from '../holder/holder-view.js';
import { parseLicenseListQuery } from '../holder/holder-list.js';
import { LicenseView } from '../license/license-view.js';
import { problemText } from '../parts/problem-text.js';
import { useAction } from '../../shared/forms/action.js';
import { ErasuresView } from '../queues/erasures-view.js';
import { sendPending, useUndoShortcut } from '../queues/pending.js';
import { forgetRowStates } from '../queues/row-states.js';
import { RequestsView } from '../queues/requests-view.js';
import { hrefOf, useRoute, type Route } from '../route.js';
import type { StaffSessionAnswer } from '../../../src/http/responses/api-types.js';
import type { Role } from '../types.js';
import { messages } from '../messages.js';
import { Nav } from './nav.js';
import { useQueues, type Queues } from './queues.js';
import { useSearchShortcut } from '../parts/search-shortcut.js';

interface Props {
  readonly session: StaffSessionAnswer;
  readonly onSignedOut: () => void;
}

/** The page of a signed-in person: the navigation, and the view that the URL names. */
export function Workspace({ session, onSignedOut }: Props) {
  const queues = useQueues();
  const route = routeFor(useRoute(), session.role);
  useSearchShortcut();
  useUndoShortcut();
  useEffect(() => forgetRowStates, []);
  const { view } = route;
  const signOut = useAction((error) => toastError(problemText(error)));
  useTitle(route, queues.requestsWaiting + queues.erasuresWaiting);
  const handleSignOut = () =>
    void signOut.run(async () => {
      // A release that fails is shown, and the person stays signed in to repeat it.
      if (!(await sendPending())) return;
      await call('DELETE', 'session').catch(async (error: unknown) => {
        if (!isSignedOut(error) || (await hasSession())) throw error;
      });
      onSignedOut();
    });
  return (
    <Page
      wide
      header={
        <>
          <BrandMark page={messages.support} />
          <Nav
            role={session.role}
            view={view}
            waiting={{ requests: queues.requestsWaiting, erasures: queues.erasuresWaiting }}
          />
          <span class="who">
            <a href={hrefOf('account')} aria-current={view === 'account' ? 'page' : undefined}>
              {messages.nav.account}
            </a>
            <Button kind="link" busy={signOut.busy} onClick={handleSignOut}>
              {messages.nav.signOut}
            </Button>
          </span>
        </>
      }
      footer={
        <p class="small">
          {fill(messages.signIn.signedIn, { email: <UntrustedText text={session.email} /> })}{' '}
          {messages.roles[session.role]}: {messages.account.roleMeans[session.role]}.
        </p>
      }
    >
      <Views route={route} session={session} queues={queues} />
    </Page>
  );
}

function Views({
  route: { view, id, details },
  session,
  queues,
}: {
  route: Route;
  session: StaffSessionAnswer;
  queues: Queues;
}) {
  // The search is kept here, so that going back from a license shows its results again.
  const [search, setSearch] = useState(() => ({ ...EMPTY_SEARCH, text: takeSearchText() }));
  const isAdmin = session.role === 'admin';
  switch (view) {
    case 'license':
      return (
        <LicenseView
          key={[id, ...details].join('/')}
          id={id}
          searched={(details[0] ?? '').toLowerCase()}
          isAdmin={isAdmin}
          onQueueChange={() => void refresh(queues)}
          onLicense={(license) => setSearch((before) => withLicense(before, license))}
        />
      );
    case 'holder':
      return <HolderView key={id} id={id} list={parseLicenseListQuery(details)} />;
    case 'requests':
      return <RequestsView load={queues.requests} />;
    case 'erasures':
      return <ErasuresView load={queues.erasures} isAdmin={isAdmin} />;
    case 'fleet':
      return <LazyFleetView onReload={() => keepSearchText(search.text)} />;
    case 'service':
      return <ServiceView />;
    case 'audit':
      return <AuditView query={id} />;
    case 'account':
      return <AccountView session={session} />;
    case 'staff':
      return <StaffView session={session} />;
    case 'find':
      return <FindView search={search} setSearch={setSearch} isAdmin={isAdmin} />;
  }
}

/** The route that the page shows to a person with this role: the search instead of a view for admins. */
const routeFor = (route: Route, role: Role): Route =>
  route.view === 'staff' && role !== 'admin' ? { ...route, view: 'find' } : route;

/** Whether there is a session, which another person may have begun in another tab. Throws if the service does not answer. */
const hasSession = () =>
  findSession().then(
    () => true,
    (error: unknown) => {
      if (isSignedOut(error)) return false;
      throw error;
    },
  );

const refresh = ({ requests, erasures }: Queues) => Promise.all([requests.reload(), erasures.reload()]);

/** Sets the title of the browser tab. The number comes first, because a tab cuts long titles. */
function useTitle({ view }: Route, waiting: number): void {
  useEffect(() => {
    const name =
      view === 'license'
        ? messages.find.license
        : view === 'holder'
          ? messages.holder.title
          : messages.nav[view];
    setTitle(`${waiting > 0 ? `(${waiting}) ` : ''}${name} · ${messages.support}`);
  }, [view, waiting]);
}
