import type { HolderActivation } from '../shared/api-types.js';
import { announce } from '../shared/announcer.js';
import { ConfirmDialog } from '../shared/confirm-dialog.js';
import { plural } from '../shared/dates.js';
import { fill } from '../shared/text.js';
import { withActivation } from './holder.js';
import { MachineName } from './machine-name.js';
import { messages } from './messages.js';
import { release } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';

const texts = messages.release;

interface Props {
  readonly activation: HolderActivation;
  readonly left: number;
  readonly onClose: () => void;
}

/** Releases a machine without support. */
export function ReleaseMyself({ activation, left, onClose }: Props) {
  const { holder, update } = useHolderSession();
  const explain = useHolderError();
  const confirm = async () => {
    const answer = await release(activation.id);
    onClose();
    const ended = { ...activation, ...answer.activation, release_requested_at: null };
    const changed = withActivation(holder, activation.id, (license) => ({
      activation: ended,
      machines_in_use: license.machines_in_use - 1,
      self_releases_left: license.self_releases_left - 1,
    }));
    // The headline gets the focus, because it shows that another machine can be activated.
    update(changed, 'headline');
    announce(texts.done);
  };
  const machine = <MachineName activation={activation} />;
  return (
    <ConfirmDialog
      title={fill(texts.selfTitle, { machine })}
      submit={texts.confirm}
      cancel={texts.cancel}
      explain={(error) => ({ text: explain(error) })}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>{fill(texts.what, { machine })}</p>
      <p>{plural(left, texts.left)}</p>
    </ConfirmDialog>
  );
}
