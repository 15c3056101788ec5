import type { HolderActivation } from '../shared/api-types.js';
import { ConfirmDialog } from '../shared/confirm-dialog.js';
import { fill } from '../shared/text.js';
import { toast } from '../shared/toast.js';
import { wrongMembers } from './explain.js';
import { withActivation } from './holder.js';
import { MachineName } from './machine-name.js';
import { messages } from './messages.js';
import { askForRelease } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';

const texts = messages.release;
const REASON_MAX_LENGTH = 500;

interface Props {
  readonly activation: HolderActivation;
  readonly onClose: () => void;
}

/** Asks support to release a machine, with a reason. */
export function AskForRelease({ activation, onClose }: Props) {
  const { id } = activation;
  const { holder, update } = useHolderSession();
  const explain = useHolderError();
  const send = async (reason: string) => {
    await askForRelease(id, reason);
    onClose();
    const requested = { ...activation, release_requested_at: new Date().toISOString() };
    update(
      withActivation(holder, id, () => ({ activation: requested })),
      `state-${id}`,
    );
    toast(texts.sent);
  };
  const machine = <MachineName activation={activation} />;
  const field = {
    label: texts.reason,
    hint: texts.reasonHint,
    area: { autofocus: true },
    check: (reason: string) => [...reason].length > REASON_MAX_LENGTH && texts.reasonWrong,
  };
  return (
    <ConfirmDialog
      title={fill(texts.askTitle, { machine })}
      submit={texts.send}
      cancel={texts.cancel}
      fields={{ reason: field }}
      explain={(error) =>
        wrongMembers(error).includes('reason')
          ? { text: '', fields: { reason: texts.reasonWrong } }
          : { text: explain(error) }
      }
      onConfirm={({ reason }) => send(reason)}
      onClose={onClose}
    >
      <p>{texts.askLead}</p>
      <p>{fill(texts.what, { machine })}</p>
    </ConfirmDialog>
  );
}
