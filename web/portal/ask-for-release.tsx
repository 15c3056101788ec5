import type { HolderActivation } from '../../src/http/responses/api-types.js';
import { ConfirmDialog } from '../shared/dialogs/confirm-dialog.js';
import { fill } from '../shared/texts/text.js';
import { toast } from '../shared/notices/toast.js';
import { wrongMembers } from './explain.js';
import { findActivation } from './holder.js';
import { MachineDetails } from './machine-details.js';
import { MachineName } from './machine-name.js';
import { messages } from './messages.js';
import { askForRelease, readHolder } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';

const REASON_MAX_CHARACTERS = 500;

interface Props {
  readonly activation: HolderActivation;
  readonly onClose: () => void;
}

/** Asks support to release a machine, with a reason. */
export function AskForRelease({ activation, onClose }: Props) {
  const { id } = activation;
  const { update } = useHolderSession();
  const explain = useHolderError();
  const send = async (reason: string) => {
    const current = await askForRelease(id, reason).then(readHolder, async (thrown: unknown) => {
      // Perhaps support was asked, and only the answer was lost.
      const latest = await readHolder();
      if (!findActivation(latest, id)?.release_requested_at) throw thrown;
      return latest;
    });
    onClose();
    // For a machine that is no longer in use the service answers without an error, and stores no release request.
    const isActive = findActivation(current, id)?.state === 'active';
    update(() => current, isActive ? `state-${id}` : 'headline');
    toast(isActive ? messages.release.sent : messages.release.notInUse);
  };
  const machine = <MachineName activation={activation} />;
  const field = {
    label: messages.release.reason,
    hint: messages.release.reasonHint,
    area: { autofocus: true },
    check: (reason: string) => [...reason].length > REASON_MAX_CHARACTERS && messages.release.reasonWrong,
  };
  return (
    <ConfirmDialog
      title={fill(messages.release.askTitle, { machine })}
      submit={messages.release.send}
      cancel={messages.release.cancel}
      fields={{ reason: field }}
      explain={(error) =>
        wrongMembers(error).includes('reason')
          ? { text: '', fields: { reason: messages.release.reasonWrong } }
          : { text: explain(error) }
      }
      onConfirm={({ reason }) => send(reason)}
      onClose={onClose}
    >
      <p class="quiet small">
        <MachineDetails activation={activation} />
      </p>
      <p>{messages.release.askLead}</p>
      <p>{fill(messages.release.what, { machine })}</p>
    </ConfirmDialog>
  );
}
