import { useAction } from '../../shared/forms/action.js';
import { Button } from '../../shared/forms/button.js';
import { toast, toastError } from '../../shared/notices/toast.js';
import { requireSession } from '../call.js';
import { messages } from '../messages.js';
import { problemText } from '../parts/problem-text.js';

const { audit: texts } = messages;

/** A button that downloads the events which the parameters select, without the limit of a page. */
export function DownloadAudit({ parameters }: { parameters: string }) {
  const { busy, run } = useAction((error) => toastError(problemText(error)));
  const download = () =>
    run(async () => {
      // If the session has ended, the browser would save the refusal instead of the file.
      await requireSession();
      const selected = new URLSearchParams(parameters);
      selected.delete('cursor');
      // The browser writes the file while it arrives: a script would keep the whole trail in memory.
      const link = document.createElement('a');
      link.href = `api/audit/export?${selected}`;
      link.download = '';
      link.click();
      toast(texts.downloading);
    });
  return (
    <Button busy={busy} onClick={() => void download()}>
      {texts.download}
    </Button>
  );
}
