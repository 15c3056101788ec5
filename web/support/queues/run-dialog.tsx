import type { Erasure, ErasureAnswer } from '../../../src/http/responses/api-types.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';

interface Props {
  readonly erasure: Erasure;
  readonly onClose: () => void;
  /** Receives the request as it is now: it has run, or its holder had cancelled it. */
  readonly onDone: (erasure: Erasure) => void;
}

export function RunDialog({ erasure, onClose, onDone }: Props) {
  const { erasures: texts } = messages;
  return (
    <ConfirmDialog
      title={fill(texts.runTitle, { email: <UntrustedText text={erasure.email ?? ''} /> })}
      submit={texts.runSubmit}
      danger
      onConfirm={async () =>
        onDone((await call<ErasureAnswer>('POST', `erasures/${erasure.id}/run`)).erasure)
      }
      onClose={onClose}
    >
      <p>{texts.runMeans}</p>
    </ConfirmDialog>
  );
}
