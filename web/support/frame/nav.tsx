import { useLayoutEffect, useState } from 'preact/hooks';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { hrefOf, type View } from '../route.js';
import type { Role } from '../types.js';
import { useAriaSearchKeys } from '../parts/search-shortcut.js';
import { messages } from '../messages.js';

type Tab = Exclude<View, 'license' | 'holder' | 'account'>;
const TABS: readonly Tab[] = ['find', 'requests', 'erasures', 'fleet', 'service', 'audit'];

interface Props {
  readonly role: Role;
  readonly view: View;
  /** The number of requests that wait in a view. */
  readonly waiting: Readonly<Partial<Record<View, number>>>;
}

/** The tabs of the views. On a narrow screen a button shows them; they are hidden again when another view opens. */
export function Nav({ role, view, waiting }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const searchKeys = useAriaSearchKeys();
  // An effect after the first paint would close what a person has opened by then.
  useLayoutEffect(() => setIsOpen(false), [view]);
  const tabs = role === 'admin' ? [...TABS, 'staff' as const] : TABS;
  return (
    <nav aria-label={messages.nav.label}>
      <button
        type="button"
        class="button link menu"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {messages.nav.menu}
        <Waiting count={tabs.reduce((sum, tab) => sum + (waiting[tab] ?? 0), 0)} />
      </button>
      <ul>
        {tabs.map((tab) => (
          <li key={tab}>
            <a
              href={hrefOf(tab)}
              aria-current={isCurrent(tab, view) ? 'page' : undefined}
              aria-keyshortcuts={tab === 'find' ? searchKeys : undefined}
            >
              {messages.nav[tab]}
              {tab === 'find' && <kbd aria-hidden="true">/</kbd>}
              <Waiting count={waiting[tab] ?? 0} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const isCurrent = (tab: Tab, view: View) =>
  tab === view || (tab === 'find' && (view === 'license' || view === 'holder'));

function Waiting({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <>
      {' '}
      <span class="count" aria-hidden="true">
        {formatNumber(count)}
      </span>
      <span class="unseen">{plural(count, messages.nav.waits)}</span>
    </>
  );
}
