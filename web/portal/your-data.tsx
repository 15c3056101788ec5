import { useAction } from '../shared/forms/action.js';
import { useState } from 'preact/hooks';
import { Button } from '../shared/forms/button.js';
import { Notice } from '../shared/notices/notice.js';
import { toast } from '../shared/notices/toast.js';
import { OnDemandButton } from './on-demand-button.js';
import { loadOnDemand, onDemand, preload } from './load-on-demand.js';
import { readExport } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';
import { messages } from './messages.js';

/** Download and deletion of the data of a holder who signed in by code. Other holders are asked to sign in by code first. */
export function YourData() {
  const { holder, openSignInByCode } = useHolderSession();
  return (
    <section class="flow" aria-labelledby="your-data">
      <h2 id="your-data">{messages.data.title}</h2>
      {holder.signed_in_by === 'code' ? (
        <>
          <Download />
          {!holder.erasure && <Deletion />}
        </>
      ) : (
        <>
          <p>{messages.data.needsCode}</p>
          <OnDemandButton onLoaded={() => openSignInByCode({ focusAfterwards: 'your-data' })}>
            {messages.data.signInByCode}
          </OnDemandButton>
        </>
      )}
    </section>
  );
}

function Download() {
  const { holder } = useHolderSession();
  const { busy, error, run } = useAction(useHolderError());
  const download = () =>
    run(async () => {
      await loadOnDemand();
      onDemand.saveExport(await readExport(), holder.email);
      toast(messages.data.downloaded);
    });
  return (
    <div class="choice">
      <p>{messages.data.downloadLead}</p>
      <Button busy={busy} onNear={() => void preload()} onClick={() => void download()}>
        {messages.data.download}
      </Button>
      {error && <Notice kind="danger">{error}</Notice>}
    </div>
  );
}

function Deletion() {
  const [isDialogOpen, setIsDialogOpen] = useState(false);
  return (
    <div class="choice">
      <p>{messages.data.deleteLead}</p>
      <OnDemandButton onLoaded={() => setIsDialogOpen(true)}>{messages.data.delete}</OnDemandButton>
      {isDialogOpen && <onDemand.AskForErasure onClose={() => setIsDialogOpen(false)} />}
    </div>
  );
}
