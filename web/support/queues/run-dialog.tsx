import { fill, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { useDeed } from '../parts/use-deed.js';
import type { Erasure } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly erasure: Erasure;
  readonly onClose: () => void;
  /** With the request as it stands now: its holder may have taken it back meanwhile. */
  readonly onDone: (erasure: Erasure) => void;
}

export function RunDialog({ erasure, onClose, onDone }: Props) {
  const { erasures: texts } = messages;
  const deed = useDeed();
  const run = () =>
    deed.run(async () => {
      onDone((await call<{ erasure: Erasure }>('POST', `erasures/${erasure.id}/run`)).erasure);
    });
  return (
    <AskDialog
      title={fill(texts.runTitle, { email: <UntrustedText text={erasure.email ?? ''} /> })}
      submit={texts.runSubmit}
      danger
      deed={deed}
      onSubmit={run}
      onClose={onClose}
    >
      <p>{texts.runMeans}</p>
    </AskDialog>
  );
}
