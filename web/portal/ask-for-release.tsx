import { useRef, useState } from 'preact/hooks';
import { announce, focusFirstError } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { Dialog } from '../shared/dialog.js';
import { Field } from '../shared/field.js';
import { fill } from '../shared/text.js';
import { Form } from '../shared/form.js';
import { Notice } from '../shared/notice.js';
import { isSignedOut } from '../shared/api.js';
import { useAction } from '../shared/action.js';
import { explain, wrongMembers } from './explain.js';
import { withActivation, type Activation } from './holder.js';
import { MachineName } from './machine-row.js';
import { askForRelease } from './portal-api.js';
import { useHolderSession } from './session.js';
import { messages } from './messages.js';

const texts = messages.release;
const LONGEST_REASON = 500;

interface Props {
  readonly activation: Activation;
  readonly onClose: () => void;
}

/** Asks support to release a machine, with a reason. */
export function AskForRelease({ activation, onClose }: Props) {
  const { id } = activation;
  const { holder, update, onEnded } = useHolderSession();
  const form = useRef<HTMLFormElement>(null);
  const [reason, setReason] = useState('');
  const [wrong, setWrong] = useState<string>();
  const { busy, fault, run } = useAction((error) => {
    if (isSignedOut(error)) onEnded();
    if (!wrongMembers(error).includes('reason')) return explain(error);
    tell(texts.reasonWrong);
    return '';
  });
  const tell = (found: string | undefined) => {
    setWrong(found);
    focusFirstError(form.current!);
  };
  const send = async () => {
    const found = [...reason].length > LONGEST_REASON ? texts.reasonWrong : undefined;
    tell(found);
    if (found) return;
    await run(async () => {
      await askForRelease(id, reason.trim());
      onClose();
      const asked = { ...activation, release_requested_at: new Date().toISOString() };
      update(
        withActivation(holder, id, () => ({ activation: asked })),
        `state-${id}`,
      );
      announce(texts.sent);
    });
  };
  const machine = <MachineName activation={activation} />;
  return (
    <Dialog title={fill(texts.askTitle, { machine })} onClose={onClose}>
      <p>{texts.askLead}</p>
      <p>{fill(texts.what, { machine })}</p>
      <Form element={form} onSubmit={send}>
        <Field
          label={texts.reason}
          name="reason"
          hint={texts.reasonHint}
          value={reason}
          onValue={setReason}
          error={wrong}
          area={{ autofocus: true }}
        />
        {fault && <Notice kind="danger">{fault}</Notice>}
        <div class="actions">
          <Button kind="primary" type="submit" busy={busy}>
            {texts.send}
          </Button>
          <Button onClick={onClose}>{texts.cancel}</Button>
        </div>
      </Form>
    </Dialog>
  );
}
