import { useAction } from '../shared/forms/action.js';
import { useState } from 'preact/hooks';
import { Button } from '../shared/forms/button.js';
import { Notice } from '../shared/notices/notice.js';
import { toast } from '../shared/notices/toast.js';
import { OnDemandButton } from './on-demand-button.js';
import { onDemand } from './load-on-demand.js';
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
  const { busy, error, run } = useAction(useHolderError());
  const download = () =>
    run(async () => {
      save(await readExport());
      toast(messages.data.downloaded);
    });
  return (
    <div class="choice">
      <p>{messages.data.downloadLead}</p>
      <Button busy={busy} onClick={() => void download()}>
        {messages.data.download}
      </Button>
      {error && <Notice kind="danger">{error}</Notice>}
    </div>
  );
}

// The data is requested by script and not by a link: if the session has ended, a link would save the error response as the file.
function save(data: unknown): void {
  const file = new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = messages.data.downloadFile;
  link.click();
  // The URL is revoked later, because the browser has not read the file yet.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
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
