import { toastWithButton } from '../parts/toast-with-button.js';
import { findSession } from '../call.js';
import { isPlainKey, useShortcuts } from '../parts/use-shortcuts.js';

/**
 * The time in which a confirmed action can be undone. Nothing is sent earlier, except at a sign-out or if the page is
 * left.
 */
export const UNDO_SECONDS = 10;
/**
 * The number of requests that fit into the 64 KiB that a browser still sends for a page that was left. A reason of 500
 * characters has at most 2000 bytes.
 */
const LEAVE_MAX_REQUESTS = 30;

/** An action that waits, and then sends its requests. */
interface DelayedAction {
  readonly text: string;
  readonly undo: { readonly text: string; readonly label: string };
  /** Each sends one request, and never rejects. */
  readonly requests: readonly (() => Promise<unknown>)[];
  readonly onUndo: () => void;
  /** Called after the last answer. @returns whether all requests succeeded */
  readonly onSent: () => Promise<boolean>;
}

interface Entry extends DelayedAction {
  readonly unsent: (() => Promise<unknown>)[];
  readonly sent: Promise<unknown>[];
  readonly stopWaiting: () => void;
  /** Whether all requests succeeded; undefined while the action can be undone. */
  result?: Promise<boolean>;
}

/** The actions that are not completed, in the order of their confirmation. They are not stored: a reload does not repeat them. */
const entries: Entry[] = [];

/** Sends the requests of an action after `UNDO_SECONDS`. Until then a toast shows the action, with a button that undoes it. */
export function delay(action: DelayedAction): void {
  const waitMs = UNDO_SECONDS * 1000;
  const button = { ...action.undo, shortcut: 'Z', onClick: () => undo(entry) };
  const removeToast = toastWithButton(action.text, button, waitMs);
  const timer = setTimeout(() => void start(entry), waitMs);
  const stopWaiting = () => {
    clearTimeout(timer);
    removeToast();
  };
  const entry: Entry = { ...action, unsent: [...action.requests], sent: [], stopWaiting };
  entries.push(entry);
}

/** Undoes the latest action that can be undone, with the key Z. */
export function useUndoShortcut(): void {
  useShortcuts((event) => {
    const latest = entries.findLast(({ result }) => result === undefined);
    if (event.key.toLowerCase() !== 'z' || !isPlainKey(event) || !latest) return false;
    undo(latest);
    return true;
  });
}

/** Sends what waits now, and waits for the answers. @returns whether all requests succeeded */
export async function sendPending(): Promise<boolean> {
  return (await Promise.all(entries.map(start))).every(Boolean);
}

// The browser completes these requests (`keepalive`), although their answers no longer reach the page.
addEventListener('pagehide', () => {
  for (const entry of entries) {
    for (const request of entry.unsent.splice(0)) entry.sent.push(request());
    void start(entry);
  }
});

// The browser asks whether to leave the page, if it might not complete all requests.
addEventListener('beforeunload', (event) => {
  if (entries.reduce((sum, { unsent }) => sum + unsent.length, 0) > LEAVE_MAX_REQUESTS)
    event.preventDefault();
});

function undo(entry: Entry): void {
  entry.stopWaiting();
  entries.splice(entries.indexOf(entry), 1);
  entry.onUndo();
}

/** Begins to send, unless that has begun. */
const start = (entry: Entry): Promise<boolean> => (entry.result ??= send(entry));

async function send(entry: Entry): Promise<boolean> {
  const { unsent, sent } = entry;
  entry.stopWaiting();
  // Another person may have signed in meanwhile, in another tab. After this has read who is signed in, each request of `decide.ts`
  // fails if that is not the person who confirmed it.
  await findSession().catch(() => undefined);
  // One after another, because requests about one license would wait for its lock in the database.
  while (unsent.length > 0) {
    const answer = unsent.shift()!();
    sent.push(answer);
    await answer;
  }
  await Promise.all(sent);
  entries.splice(entries.indexOf(entry), 1);
  return entry.onSent();
}
