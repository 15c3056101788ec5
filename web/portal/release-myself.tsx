import { announce } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { plural } from '../shared/dates.js';
import { Dialog } from '../shared/dialog.js';
import { fill } from '../shared/text.js';
import { Notice } from '../shared/notice.js';
import { withActivation, type Activation } from './holder.js';
import { MachineName } from './machine-row.js';
import { release } from './portal-api.js';
import { useHolderAction, useHolderSession } from './session.js';
import { messages } from './messages.js';

const texts = messages.release;

interface Props {
  readonly activation: Activation;
  readonly left: number;
  readonly onClose: () => void;
}

/** Releases a machine at once, where the holder may. */
export function ReleaseMyself({ activation, left, onClose }: Props) {
  const { holder, update } = useHolderSession();
  const { busy, fault, run } = useHolderAction();
  const confirm = () =>
    run(async () => {
      const answer = await release(activation.id);
      onClose();
      const ended = { ...activation, ...answer.activation, release_requested_at: null };
      const changed = withActivation(holder, activation.id, (license) => ({
        activation: ended,
        machines_in_use: license.machines_in_use - 1,
        self_releases_left: license.self_releases_left - 1,
      }));
      // What changed for them is the first line: there is room again.
      update(changed, 'headline');
      announce(texts.done);
    });
  const machine = <MachineName activation={activation} />;
  return (
    <Dialog title={fill(texts.selfTitle, { machine })} onClose={onClose}>
      <p>{fill(texts.what, { machine })}</p>
      <p>{plural(left, texts.left)}</p>
      {fault && <Notice kind="danger">{fault}</Notice>}
      <div class="actions">
        <Button kind="primary" busy={busy} onClick={() => void confirm()}>
          {texts.confirm}
        </Button>
        <Button autofocus onClick={onClose}>
          {texts.cancel}
        </Button>
      </div>
    </Dialog>
  );
}
