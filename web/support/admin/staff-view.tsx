import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { Notice } from '../../shared/notice.js';
import { problemText } from '../parts/problem-text.js';
import { t } from '../../shared/text.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { useAction } from '../../shared/action.js';
import { ViewTitle } from '../parts/view-title.js';
import { call, session as events } from '../call.js';
import type { StaffListAnswer, StaffMember, StaffSessionAnswer } from '../../shared/api-types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { AddStaffDialog } from './add-staff-dialog.js';
import { RemoveStaffDialog } from './remove-staff-dialog.js';
import { RoleDialog } from './role-dialog.js';
import { StaffTable, type StaffAction } from './staff-table.js';
import { Tokens } from './tokens.js';

/** Who may work here, and which scripts. */
export function StaffView({ session: me }: { session: StaffSessionAnswer }) {
  const load = useLoad<StaffListAnswer>('staff');
  const { staff: texts } = messages;
  const [adding, setAdding] = useState(false);
  const [doing, setDoing] = useState<{ action: StaffAction; member: StaffMember }>();
  const [changed, setChanged] = useState<string>();
  const mailing = useAction();

  async function done(sentence: string, email: string, row?: string) {
    setAdding(false);
    setDoing(undefined);
    setChanged(row);
    await load.reload();
    showChange(t(sentence, { email }), row);
  }

  function begin(action: StaffAction, member: StaffMember) {
    setChanged(undefined);
    mailing.clear();
    if (action !== 'link') return setDoing({ action, member });
    void mailing.run(async () => {
      await call('POST', `staff/${member.id}/link`);
      await done(texts.linkDone, member.email, member.id);
    });
  }

  const dialog = doing && { member: doing.member, onClose: () => setDoing(undefined) };
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      {mailing.error !== undefined && <Notice kind="danger">{problemText(mailing.error)}</Notice>}
      <div class="actions">
        <Button onClick={() => setAdding(true)}>{texts.add}</Button>
      </div>
      <Loaded load={load} waiting={texts.waiting}>
        {({ staff }) => (
          <StaffTable staff={staff} me={me.id} mailing={mailing.busy} changed={changed} onAction={begin} />
        )}
      </Loaded>
      <Tokens />
      {adding && (
        <AddStaffDialog
          onClose={() => setAdding(false)}
          onDone={({ email, id }) => void done(texts.added, email, id)}
        />
      )}
      {dialog && doing.action === 'remove' && (
        <RemoveStaffDialog {...dialog} onDone={({ email }) => void done(texts.removed, email)} />
      )}
      {dialog && doing.action === 'role' && (
        <RoleDialog
          {...dialog}
          onDone={({ email, id }) => {
            if (id === me.id) events.dispatchEvent(new Event('changed'));
            void done(texts.roleDone, email, id);
          }}
        />
      )}
    </div>
  );
}
