import { useAction } from '../shared/forms/action.js';
import { Button } from '../shared/forms/button.js';
import { formatTime, formatUtcDay } from '../shared/dates/dates.js';
import { serviceTime } from '../shared/dates/service-time.js';
import { Notice } from '../shared/notices/notice.js';
import { t } from '../shared/texts/text.js';
import { toast } from '../shared/notices/toast.js';
import type { WaitingErasure } from '../../src/http/responses/api-types.js';
import { OnDemandButton } from './on-demand-button.js';
import { cancelErasure, readHolder } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';
import { messages } from './messages.js';

/** Shows a requested deletion and, until it runs, a button that cancels it, or that leads to the sign-in by code. */
export function ErasureNotice({ erasure }: { erasure: WaitingErasure }) {
  const { holder, update, openSignInByCode } = useHolderSession();
  const { busy, error, run } = useAction(useHolderError());
  const canCancel = holder.signed_in_by === 'code';
  const cancel = () =>
    run(async () => {
      await cancelErasure(erasure.id).catch(async (thrown: unknown) => {
        // Perhaps it was cancelled, and only the answer was lost. Another holder may have signed in meanwhile.
        const { email, erasure: waiting } = await readHolder();
        if (email !== holder.email || waiting) throw thrown;
      });
      update((latest) => ({ ...latest, erasure: null }), 'headline');
      toast(messages.data.takenBack);
    });
  const isWaiting = Date.parse(erasure.runs_at) > serviceTime();
  return (
    <Notice kind="warning">
      <p id="erasure">
        <strong>{t(messages.data.asked, { day: formatUtcDay(erasure.received_on) })}</strong>{' '}
        {isWaiting ? t(messages.data.runs, { moment: formatTime(erasure.runs_at) }) : messages.data.running}
      </p>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {isWaiting && canCancel && (
        <Button busy={busy} onClick={() => void cancel()}>
          {messages.data.takeItBack}
        </Button>
      )}
      {isWaiting && !canCancel && (
        <OnDemandButton onLoaded={() => openSignInByCode({ focusAfterwards: 'erasure' })}>
          {messages.data.signInByCode}
        </OnDemandButton>
      )}
    </Notice>
  );
}
