import { useAction } from '../shared/action.js';
import { Button } from '../shared/button.js';
import { moment, utcDay } from '../shared/dates.js';
import { Notice } from '../shared/notice.js';
import { t } from '../shared/text.js';
import { toast } from '../shared/toast.js';
import type { WaitingErasure } from '../shared/api-types.js';
import { takeErasureBack } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';
import { messages } from './messages.js';

const texts = messages.data;

/** A deletion that was asked for, and the way to take it back. */
export function ErasureNotice({ erasure }: { erasure: WaitingErasure }) {
  const { holder, update, proveMailbox } = useHolderSession();
  const { busy, error, run } = useAction(useHolderError());
  const mayTakeBack = holder.signed_in_by === 'code';
  const takeBack = () =>
    run(async () => {
      await takeErasureBack();
      update({ ...holder, erasure: null }, 'headline');
      toast(texts.takenBack);
    });
  const isWaiting = Date.parse(erasure.runs_at) > Date.now();
  return (
    <Notice kind="warning">
      <p id="erasure">
        <strong>{t(texts.asked, { day: utcDay(erasure.received_on) })}</strong>{' '}
        {isWaiting ? t(texts.runs, { moment: moment(erasure.runs_at) }) : texts.running}
      </p>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {isWaiting && (
        <Button busy={busy} onClick={mayTakeBack ? () => void takeBack() : () => proveMailbox('erasure')}>
          {mayTakeBack ? texts.takeItBack : texts.signInByCode}
        </Button>
      )}
    </Notice>
  );
}
