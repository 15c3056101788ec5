import { announce } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { moment, utcDay } from '../shared/dates.js';
import { Notice } from '../shared/notice.js';
import { say } from '../shared/say.js';
import type { Erasure } from './holder.js';
import { takeErasureBack } from './portal-api.js';
import { useHolderAction, useHolderSession } from './session.js';
import { words } from './words.js';

const said = words.data;

/** A deletion that was asked for, and the way to take it back. */
export function ErasureNotice({ erasure }: { erasure: Erasure }) {
  const { holder, update, proveMailbox } = useHolderSession();
  const { busy, fault, run } = useHolderAction();
  const mayTakeBack = holder.signed_in_by === 'code';
  const takeBack = () =>
    run(async () => {
      await takeErasureBack();
      update({ ...holder, erasure: null }, 'headline');
      announce(said.takenBack);
    });
  const isWaiting = Date.parse(erasure.runs_at) > Date.now();
  return (
    <Notice kind="warning">
      <p id="erasure">
        <strong>{say(said.asked, { day: utcDay(erasure.received_on) })}</strong>{' '}
        {isWaiting ? say(said.runs, { moment: moment(erasure.runs_at) }) : said.running}
      </p>
      {fault && (
        <p class="error" role="alert">
          {fault}
        </p>
      )}
      {isWaiting && (
        <Button busy={busy} onClick={mayTakeBack ? () => void takeBack() : proveMailbox}>
          {mayTakeBack ? said.takeItBack : said.signInByCode}
        </Button>
      )}
    </Notice>
  );
}
