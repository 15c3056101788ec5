import { Button } from '../../shared/forms/button.js';
import { useAction } from '../../shared/forms/action.js';
import { ViewTitle } from '../parts/view-title.js';
import type { StaffSessionAnswer } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { Failure } from './failure.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { enrolPasskey } from './passkey.js';

interface Props {
  readonly session: StaffSessionAnswer;
  readonly onEnrolled: () => void;
  readonly onLater: () => void;
}

/** Offers to create a passkey to a person who signed in by a link and has none. */
export function Enrol({ session, onEnrolled, onLater }: Props) {
  const action = useAction();
  const { passkeys } = messages;
  return (
    <div class="flow sign-in">
      <ViewTitle>{passkeys.promptTitle}</ViewTitle>
      <p class="lead">{passkeys.promptLead}</p>
      <p class="quiet">{fill(messages.signIn.signedIn, { email: <UntrustedText text={session.email} /> })}</p>
      <Failure error={action.error} texts={passkeys} />
      <div class="actions">
        <Button
          kind="primary"
          busy={action.busy}
          onClick={() => void action.run(enrolPasskey).then((isMade) => isMade && onEnrolled())}
        >
          {passkeys.add}
        </Button>
        <Button kind="link" onClick={onLater}>
          {passkeys.later}
        </Button>
      </div>
    </div>
  );
}
