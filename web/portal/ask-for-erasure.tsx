import { announce } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { plural, utcDay } from '../shared/dates.js';
import { Dialog } from '../shared/dialog.js';
import { Notice } from '../shared/notice.js';
import { say } from '../shared/say.js';
import type { Holder } from './holder.js';
import { askForErasure } from './portal-api.js';
import { useHolderAction, useHolderSession } from './session.js';
import { words } from './words.js';

const said = words.data;

/** Says plainly what a deletion ends and what is kept, and asks for it. */
export function AskForErasure({ onClose }: { onClose: () => void }) {
  const { holder, update } = useHolderSession();
  const { busy, fault, run } = useHolderAction();
  const confirm = () =>
    run(async () => {
      const { erasure } = await askForErasure();
      onClose();
      update({ ...holder, erasure }, 'erasure');
      announce(said.willRun);
    });
  return (
    <Dialog title={said.erasureTitle} onClose={onClose}>
      <ul class="flow">
        {consequences(holder).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <p class="quiet small">{said.telemetry}</p>
      {fault && <Notice kind="danger">{fault}</Notice>}
      <div class="actions">
        <Button kind="danger" busy={busy} onClick={() => void confirm()}>
          {said.confirm}
        </Button>
        <Button autofocus onClick={onClose}>
          {said.keep}
        </Button>
      </div>
    </Dialog>
  );
}

function consequences({ licenses, purchases_kept_until }: Holder): string[] {
  const machines = licenses.reduce((total, { machines_in_use }) => total + machines_in_use, 0);
  return [
    licenses.length > 0 ? plural(licenses.length, said.ends) : said.endsNone,
    ...(machines > 0 ? [plural(machines, said.stops)] : []),
    said.erased,
    purchases_kept_until ? say(said.kept, { day: utcDay(purchases_kept_until) }) : said.keptNone,
    said.takeBack,
  ];
}
