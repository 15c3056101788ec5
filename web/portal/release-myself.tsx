import { useRef, useState } from 'preact/hooks';
import type { HolderActivation, HolderLicensesAnswer } from '../../src/http/responses/api-types.js';
import { ConfirmDialog } from '../shared/dialogs/confirm-dialog.js';
import { Button } from '../shared/forms/button.js';
import { plural } from '../shared/dates/dates.js';
import { Dialog } from '../shared/dialogs/dialog.js';
import { fill, UntrustedText } from '../shared/texts/text.js';
import { common } from '../shared/texts/messages.js';
import { removeError, toast, toastError } from '../shared/notices/toast.js';
import { CodeEntry } from './code-entry.js';
import { findActivation } from './holder.js';
import { MachineDetails } from './machine-details.js';
import { MachineName } from './machine-name.js';
import { messages } from './messages.js';
import { mailCode, readHolder, release, signInByCode } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';

interface Props {
  readonly activation: HolderActivation;
  readonly releasesLeft: number;
  readonly onClose: () => void;
}

/** Releases a machine without support. A holder who signed in by key first enters a mailed code in the same dialog. */
export function ReleaseMyself({ activation, releasesLeft, onClose }: Props) {
  const { holder, update } = useHolderSession();
  const explain = useHolderError();
  const [isMailed, setIsMailed] = useState(false);
  const [isFilled, setIsFilled] = useState(false);
  const needsCode = holder.signed_in_by === 'key';
  // The last error that a toast shows. It is removed when the machine is released after all.
  const failure = useRef('');
  const releaseNow = async () => {
    try {
      const { was_active } = await release(activation.id);
      // All data is read again, because another tab or support may have released machines meanwhile.
      showReleased(await readHolder(), was_active);
    } catch (error) {
      // Perhaps the machine was released, and only the answer was lost.
      const current = await readHolder();
      if (findActivation(current, activation.id)?.state !== 'released') throw error;
      showReleased(current, true);
    }
  };
  const showReleased = (current: HolderLicensesAnswer, wasActive: boolean) => {
    removeError(failure.current);
    onClose();
    // The headline gets the focus, because it shows that another machine can be activated.
    update(() => current, 'headline');
    toast(wasActive ? messages.release.done : messages.release.notInUse);
  };
  const releaseAfterCode = () =>
    releaseNow().catch(async (error: unknown) => {
      const current = await readHolder();
      // The code was accepted, so the dialog asks for no further code. If no self-release is left, the row of the machine
      // shows the dialog that asks support instead.
      update(() => current);
      toastError((failure.current = explain(error)));
    });
  const mail = () => mailCode({ email: holder.email });
  const machine = <MachineName activation={activation} />;
  const title = fill(messages.release.selfTitle, { machine });
  const details = (
    <p class="quiet small">
      <MachineDetails activation={activation} />
    </p>
  );
  if (needsCode && isMailed) {
    return (
      <Dialog title={title} warning={isFilled && common.discard} onClose={onClose}>
        {details}
        <CodeEntry
          sentTo={holder.email}
          lead={messages.release.codeMailed}
          submit={messages.release.confirm}
          mail={mail}
          signIn={(code) => signInByCode({ email: holder.email, code })}
          onSignedIn={releaseAfterCode}
          onFilled={setIsFilled}
          extra={
            <Button kind="link" onClick={onClose}>
              {messages.release.cancel}
            </Button>
          }
        />
      </Dialog>
    );
  }
  return (
    <ConfirmDialog
      // A holder whose session ended while this dialog is open may sign in the other way, which changes what the dialog asks. A new
      // dialog shows no error of the earlier one.
      key={holder.signed_in_by}
      title={title}
      submit={needsCode ? messages.signIn.mailCode : messages.release.confirm}
      cancel={messages.release.cancel}
      explain={(error) => ({ text: explain(error) })}
      onConfirm={async () => {
        if (!needsCode) return releaseNow();
        await mail();
        setIsMailed(true);
      }}
      onClose={onClose}
    >
      {details}
      <p>{fill(messages.release.what, { machine })}</p>
      <p>{plural(releasesLeft, messages.release.left)}</p>
      {needsCode && (
        <p>{fill(messages.release.codeFirst, { email: <UntrustedText text={holder.email} /> })}</p>
      )}
    </ConfirmDialog>
  );
}
