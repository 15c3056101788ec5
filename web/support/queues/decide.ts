import type {
  Activation,
  ReleaseAnswer,
  ReleaseDecisionAnswer,
  ReleaseRequestLine,
} from '../../../src/http/responses/api-types.js';
import { ApiError, isOffline, isSignedOut, ServiceUnavailable } from '../../shared/api/api.js';
import { formatNumber, plural } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { toast, toastError } from '../../shared/notices/toast.js';
import { call, isUnanswered, sessionEvents, staffId } from '../call.js';
import { messages } from '../messages.js';
import { problemText } from '../parts/problem-text.js';
import { showChange } from '../parts/show-change.js';
import type { Decision } from '../types.js';
import { delay, UNDO_SECONDS } from './pending.js';
import { keepRowFocus } from './row-keys.js';
import { reloadViews, setRowStates } from './row-states.js';

/** A machine that staff decide about, and the request of its holder, if there is one. */
export interface Target {
  readonly activation: Activation;
  /** What the machine is called in messages (`machineNames`). */
  readonly name: string;
  readonly request?: Pick<ReleaseRequestLine, 'id' | 'reason'>;
  /** The language of the mail about the decision; null for MAIL_LANGUAGE. */
  readonly language: string | null;
}

/**
 * What a decision led to. With `meanwhile` in its name: the request was decided, or the machine released, before this decision.
 */
type Outcome = 'released' | 'declined' | 'meanwhileReleased' | 'meanwhileDeclined';

const texts = messages.decided;

/** Releases machines after `UNDO_SECONDS`. Until then the person can undo it, because nothing is sent. */
export function release(targets: readonly Target[], reason: string): void {
  const ids = idsOf(targets);
  const { requests, report } = prepare(targets, 'release', reason);
  const machine = namesOf(targets);
  setRowStates(ids, 'release');
  delay({
    text: t(texts.soon, { seconds: formatNumber(UNDO_SECONDS), machine }),
    undo: { text: texts.undo, label: t(texts.undoLabel, { machine }) },
    requests,
    onUndo: () => {
      setRowStates(ids, undefined);
      showChange(t(texts.undone, { machine }), targets[0]!.request?.id ?? ids[0]);
    },
    onSent: report,
  });
}

/**
 * Declines requests at once. A single one that fails is not reported but thrown, so that its dialog stays open, unless another
 * person is signed in now: the dialog then disappears with the page of the earlier person.
 */
export async function decline(targets: readonly Target[], reason: string): Promise<void> {
  const { requests, failures, report } = prepare(targets, 'decline', reason);
  for (const request of requests) await request();
  const [failure] = failures;
  if (targets.length === 1 && failure && !isOfAnotherPerson(failure.error)) throw failure.error;
  setRowStates(idsOf(targets), 'decline');
  void report();
}

/** Makes a request for each target, so that each is audited, and a function that reports their results together. */
function prepare(targets: readonly Target[], decision: Decision, reason: string) {
  const staff = staffId()!;
  const outcomes: Outcome[] = [];
  const failures: { readonly target: Target; readonly error: unknown }[] = [];
  // A service that does not answer, or a session that has ended, would fail each further request too.
  let lastingError: unknown;
  const requests = targets.map((target) => async () => {
    try {
      if (lastingError !== undefined) throw lastingError;
      // The service would refuse with the same error. After a sign-out `current` is undefined, and the service does refuse.
      const current = staffId();
      if (current !== undefined && current !== staff) throw new ApiError(412, 'another_person', '');
      outcomes.push(await send(target, decision, reason, staff));
    } catch (error) {
      if (error instanceof ServiceUnavailable || isSignedOut(error)) lastingError = error;
      failures.push({ target, error });
    }
  });
  async function report(): Promise<boolean> {
    const ids = idsOf(targets);
    const restoreFocus = keepRowFocus();
    if (outcomes.length > 0 || failures.some(({ error }) => isUnanswered(error))) await reloadViews(ids);
    setRowStates(ids, undefined);
    // Only the person who decided sees what failed and the reason, which another one who has signed in since must not see.
    if (staff === staffId())
      for (const { target, error } of failures)
        setRowStates([target.activation.id], { failed: decision, error: explain(error), reason });
    restoreFocus();
    if (failures.length === 0) toast(successText(targets, decision, outcomes));
    else toastError(failureText(targets, decision, outcomes, failures[0]!.error));
    if (failures.some(({ error }) => isOfAnotherPerson(error)))
      sessionEvents.dispatchEvent(new Event('changed'));
    return failures.length === 0;
  }
  return { requests, failures, report };
}

async function send(
  { activation, request }: Target,
  decision: Decision,
  reason: string,
  staff: string,
): Promise<Outcome> {
  // The browser completes these requests even if the page is left. The service refuses them if another person has signed in in
  // another tab meanwhile, which the page may not know.
  const options = { keepalive: true, headers: { 'staff-id': staff } };
  if (!request) {
    const path = `activations/${activation.id}/release`;
    const { was_active } = await call<ReleaseAnswer>('POST', path, { reason }, options);
    return was_active ? 'released' : 'meanwhileReleased';
  }
  const path = `release-requests/${request.id}`;
  const answer = await call<ReleaseDecisionAnswer>('POST', path, { decision, reason }, options);
  const isRelease = answer.release_request.decision === 'release';
  if (answer.was_open) return isRelease ? 'released' : 'declined';
  return isRelease ? 'meanwhileReleased' : 'meanwhileDeclined';
}

function successText(targets: readonly Target[], decision: Decision, outcomes: readonly Outcome[]): string {
  if (targets.length === 1) return t(texts[outcomes[0]!], { machine: namesOf(targets) });
  return countText(targets, decision, outcomes);
}

function failureText(
  targets: readonly Target[],
  decision: Decision,
  outcomes: readonly Outcome[],
  error: unknown,
): string {
  const machine = namesOf(targets);
  // The text is about a release, because `decline` throws this error of a single request, and does not report it.
  if (targets.length === 1 && isUnanswered(error)) return t(texts.unanswered, { machine });
  if (targets.length === 1) return t(texts.failed[decision], { machine, problem: explain(error) });
  const failed = targets.length - outcomes.length;
  return `${countText(targets, decision, outcomes)} ${plural(failed, texts.someFailed)}`;
}

/** Returns a text with the number of outcomes `released` or `declined`, and the number of the `meanwhile` outcomes. */
function countText(targets: readonly Target[], decision: Decision, outcomes: readonly Outcome[]): string {
  const done = outcomes.filter((outcome) => outcome === 'released' || outcome === 'declined').length;
  const meanwhile = outcomes.length - done;
  const sentence = t(plural(targets.length, texts.some[decision]), { done: formatNumber(done) });
  return meanwhile > 0 ? `${sentence} ${plural(meanwhile, texts.someMeanwhile)}` : sentence;
}

const isOfAnotherPerson = (error: unknown) => error instanceof ApiError && error.code === 'another_person';

const idsOf = (targets: readonly Target[]) => targets.map(({ activation }) => activation.id);

/** Returns the name of a machine, or the number of several. */
const namesOf = (targets: readonly Target[]) =>
  targets.length === 1 ? targets[0]!.name : plural(targets.length, messages.decide.machines);

/** The device may have a connection again while the message is shown. */
const explain = (error: unknown) => (isOffline(error) ? texts.wasOffline : problemText(error));
