import type { HolderLicensesAnswer } from '../shared/api-types.js';
import { ConfirmDialog } from '../shared/confirm-dialog.js';
import { plural, formatUtcDay } from '../shared/dates.js';
import { t } from '../shared/text.js';
import { toast } from '../shared/toast.js';
import { messages } from './messages.js';
import { askForErasure } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';

const texts = messages.data;

/** Lists what an erasure deletes and keeps, and requests it. */
export function AskForErasure({ onClose }: { onClose: () => void }) {
  const { holder, update } = useHolderSession();
  const explain = useHolderError();
  const confirm = async () => {
    const { erasure } = await askForErasure();
    onClose();
    update({ ...holder, erasure }, 'erasure');
    toast(texts.willRun);
  };
  return (
    <ConfirmDialog
      title={texts.erasureTitle}
      submit={texts.confirm}
      cancel={texts.keep}
      danger
      explain={(error) => ({ text: explain(error) })}
      onConfirm={confirm}
      onClose={onClose}
    >
      <ul class="flow">
        {consequences(holder).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <p class="quiet small">{texts.telemetry}</p>
    </ConfirmDialog>
  );
}

function consequences({ licenses, purchases_kept_until }: HolderLicensesAnswer): string[] {
  const machines = licenses.reduce((total, { machines_in_use }) => total + machines_in_use, 0);
  return [
    licenses.length > 0 ? plural(licenses.length, texts.ends) : texts.endsNone,
    ...(machines > 0 ? [plural(machines, texts.stops)] : []),
    texts.erased,
    purchases_kept_until ? t(texts.kept, { day: formatUtcDay(purchases_kept_until) }) : texts.keptNone,
    texts.takeBack,
  ];
}
