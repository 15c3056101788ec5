import type { HolderLicensesAnswer } from '../../src/http/responses/api-types.js';
import { ConfirmDialog } from '../shared/dialogs/confirm-dialog.js';
import { plural, formatUtcDay } from '../shared/dates/dates.js';
import { t } from '../shared/texts/text.js';
import { toast } from '../shared/notices/toast.js';
import { messages } from './messages.js';
import { askForErasure, readHolder } from './portal-api.js';
import { useHolderError, useHolderSession } from './session.js';

/** Lists what an erasure deletes and keeps, and requests it. */
export function AskForErasure({ onClose }: { onClose: () => void }) {
  const { holder, update } = useHolderSession();
  const explain = useHolderError();
  const confirm = async () => {
    const { erasure } = await askForErasure(holder.email).catch(async (thrown: unknown) => {
      // Perhaps the request was stored, and only the answer was lost. Another holder may have signed in meanwhile.
      const { email, erasure: waiting } = await readHolder();
      if (email !== holder.email || !waiting) throw thrown;
      return { erasure: waiting };
    });
    onClose();
    update((latest) => ({ ...latest, erasure }), 'erasure');
    toast(messages.data.willRun);
  };
  return (
    <ConfirmDialog
      title={messages.data.erasureTitle}
      submit={messages.data.confirm}
      cancel={messages.data.keep}
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
      <p class="quiet small">{messages.data.telemetry}</p>
    </ConfirmDialog>
  );
}

function consequences({ licenses, purchases_kept_until }: HolderLicensesAnswer): string[] {
  const machines = licenses.reduce((total, { machines_in_use }) => total + machines_in_use, 0);
  return [
    licenses.length > 0 ? plural(licenses.length, messages.data.ends) : messages.data.endsNone,
    ...(machines > 0 ? [plural(machines, messages.data.stops)] : []),
    messages.data.erased,
    purchases_kept_until
      ? t(messages.data.kept, { day: formatUtcDay(purchases_kept_until) })
      : messages.data.keptNone,
    messages.data.takeBack,
  ];
}
