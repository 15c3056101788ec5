import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { useDeed } from '../parts/use-deed.js';
import type { Erasure } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly erasure: Erasure;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RunDialog({ erasure, onClose, onDone }: Props) {
  const { erasures: say } = words;
  const deed = useDeed();
  const run = () =>
    deed.run(async () => {
      await call('POST', `erasures/${erasure.id}/run`);
      onDone();
    });
  return (
    <AskDialog
      title={fill(say.runTitle, { email: <Stranger text={erasure.email ?? ''} /> })}
      submit={say.runSubmit}
      danger
      deed={deed}
      onSubmit={() => void run()}
      onClose={onClose}
    >
      <p>{say.runMeans}</p>
    </AskDialog>
  );
}
