import { useState } from 'preact/hooks';
import { Button } from '../../shared/forms/button.js';
import { Notice } from '../../shared/notices/notice.js';
import { problemText } from '../parts/problem-text.js';
import { t } from '../../shared/texts/text.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { useAction } from '../../shared/forms/action.js';
import { ViewTitle } from '../parts/view-title.js';
import { call, sessionEvents } from '../call.js';
import type {
  StaffListAnswer,
  StaffMember,
  StaffSessionAnswer,
} from '../../../src/http/responses/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { AddStaffDialog } from './add-staff-dialog.js';
import { RemoveStaffDialog } from './remove-staff-dialog.js';
import { RoleDialog } from './role-dialog.js';
import { StaffTable, type StaffAction } from './staff-table.js';
import { Tokens } from './tokens.js';

/** The staff, and the tokens of their scripts. */
export function StaffView({ session }: { session: StaffSessionAnswer }) {
  const load = useLoad<StaffListAnswer>('staff');
  const { staff: texts } = messages;
  const [isAdding, setIsAdding] = useState(false);
  const [openDialog, setOpenDialog] = useState<{ action: StaffAction; member: StaffMember }>();
  const [changed, setChanged] = useState<string>();
  const mailAction = useAction();
  const [mailedId, setMailedId] = useState<string>();

  function closeDialogs() {
    setIsAdding(false);
    setOpenDialog(undefined);
  }

  async function showResult(sentence: string, email: string, row?: string) {
    setChanged(row);
    await load.reload();
    showChange(t(sentence, { email }), row);
  }

  function startAction(action: StaffAction, member: StaffMember) {
    setChanged(undefined);
    mailAction.clear();
    if (action !== 'link') return setOpenDialog({ action, member });
    setMailedId(member.id);
    void mailAction.run(async () => {
      await call('POST', `staff/${member.id}/link`);
      await showResult(texts.linkDone, member.email, member.id);
    });
  }

  /** Closes the dialog and shows its result. A mailed link only calls `showResult`, so a dialog that was opened meanwhile stays. */
  function finish(sentence: string, email: string, row?: string) {
    closeDialogs();
    void showResult(sentence, email, row);
  }

  const dialog = openDialog && { member: openDialog.member, onClose: closeDialogs };
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      {mailAction.error !== undefined && <Notice kind="danger">{problemText(mailAction.error)}</Notice>}
      <div class="actions">
        <Button onClick={() => setIsAdding(true)}>{texts.add}</Button>
      </div>
      <Loaded load={load} loadingText={texts.waiting}>
        {({ staff }) => (
          <StaffTable
            staff={staff}
            ownId={session.id}
            mailing={mailAction.busy ? mailedId : undefined}
            changed={changed}
            onAction={startAction}
          />
        )}
      </Loaded>
      <Tokens />
      {isAdding && (
        <AddStaffDialog onClose={closeDialogs} onDone={({ email, id }) => finish(texts.added, email, id)} />
      )}
      {dialog && openDialog.action === 'remove' && (
        <RemoveStaffDialog {...dialog} onDone={({ email }) => finish(texts.removed, email)} />
      )}
      {dialog && openDialog.action === 'role' && (
        <RoleDialog
          {...dialog}
          onDone={({ email, id }) => {
            if (id === session.id) sessionEvents.dispatchEvent(new Event('changed'));
            finish(texts.roleDone, email, id);
          }}
        />
      )}
    </div>
  );
}
