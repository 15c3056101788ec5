import { announce } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { plural, utcDay } from '../shared/dates.js';
import { Dialog } from '../shared/dialog.js';
import { Notice } from '../shared/notice.js';
import { t } from '../shared/text.js';
import type { Holder } from './holder.js';
import { askForErasure } from './portal-api.js';
import { useHolderAction, useHolderSession } from './session.js';
import { messages } from './messages.js';

const texts = messages.data;

/** Says plainly what a deletion ends and what is kept, and asks for it. */
export function AskForErasure({ onClose }: { onClose: () => void }) {
  const { holder, update } = useHolderSession();
  const { busy, fault, run } = useHolderAction();
  const confirm = () =>
    run(async () => {
      const { erasure } = await askForErasure();
      onClose();
      update({ ...holder, erasure }, 'erasure');
      announce(texts.willRun);
    });
  return (
    <Dialog title={texts.erasureTitle} onClose={onClose}>
      <ul class="flow">
        {consequences(holder).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <p class="quiet small">{texts.telemetry}</p>
      {fault && <Notice kind="danger">{fault}</Notice>}
      <div class="actions">
        <Button kind="danger" busy={busy} onClick={() => void confirm()}>
          {texts.confirm}
        </Button>
        <Button autofocus onClick={onClose}>
          {texts.keep}
        </Button>
      </div>
    </Dialog>
  );
}

function consequences({ licenses, purchases_kept_until }: Holder): string[] {
  const machines = licenses.reduce((total, { machines_in_use }) => total + machines_in_use, 0);
  return [
    licenses.length > 0 ? plural(licenses.length, texts.ends) : texts.endsNone,
    ...(machines > 0 ? [plural(machines, texts.stops)] : []),
    texts.erased,
    purchases_kept_until ? t(texts.kept, { day: utcDay(purchases_kept_until) }) : texts.keptNone,
    texts.takeBack,
  ];
}
