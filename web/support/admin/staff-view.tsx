import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { Notice } from '../../shared/notice.js';
import { problemText } from '../parts/problem-text.js';
import { Loaded } from '../parts/loaded.js';
import { say as put } from '../../shared/say.js';
import { showChange } from '../parts/show-change.js';
import { useDeed } from '../parts/use-deed.js';
import { ViewTitle } from '../parts/view-title.js';
import { call, session as events } from '../call.js';
import type { Session, StaffMember } from '../types.js';
import { useLoad } from '../use-load.js';
import { words } from '../words.js';
import { AddStaffDialog } from './add-staff-dialog.js';
import { RemoveStaffDialog } from './remove-staff-dialog.js';
import { RoleDialog } from './role-dialog.js';
import { StaffTable, type StaffDeed } from './staff-table.js';
import { Tokens } from './tokens.js';

/** Who may work here, and which scripts. */
export function StaffView({ session: me }: { session: Session }) {
  const load = useLoad<{ staff: StaffMember[] }>('staff');
  const { staff: say } = words;
  const [adding, setAdding] = useState(false);
  const [doing, setDoing] = useState<{ deed: StaffDeed; member: StaffMember }>();
  const [said, setSaid] = useState<{ text: string; row?: string }>();
  const mailing = useDeed();

  async function done(sentence: string, email: string, row?: string) {
    setAdding(false);
    setDoing(undefined);
    const text = put(sentence, { email });
    setSaid({ text, ...(row !== undefined && { row }) });
    await load.reload();
    showChange(text, row);
  }

  function begin(deed: StaffDeed, member: StaffMember) {
    setSaid(undefined);
    mailing.clear();
    if (deed !== 'link') return setDoing({ deed, member });
    void mailing.run(async () => {
      await call('POST', `staff/${member.id}/link`);
      await done(say.linkDone, member.email, member.id);
    });
  }

  const dialog = doing && { member: doing.member, onClose: () => setDoing(undefined) };
  return (
    <div class="flow">
      <ViewTitle>{say.title}</ViewTitle>
      {said && <Notice kind="good">{said.text}</Notice>}
      {mailing.error !== undefined && <Notice kind="danger">{problemText(mailing.error)}</Notice>}
      <div class="actions">
        <Button onClick={() => setAdding(true)}>{say.add}</Button>
      </div>
      <Loaded load={load} waiting={say.waiting}>
        {({ staff }) => (
          <StaffTable staff={staff} me={me.id} mailing={mailing.busy} changed={said?.row} onDeed={begin} />
        )}
      </Loaded>
      <Tokens />
      {adding && (
        <AddStaffDialog
          onClose={() => setAdding(false)}
          onDone={({ email, id }) => void done(say.added, email, id)}
        />
      )}
      {dialog && doing.deed === 'remove' && (
        <RemoveStaffDialog {...dialog} onDone={({ email }) => void done(say.removed, email)} />
      )}
      {dialog && doing.deed === 'role' && (
        <RoleDialog
          {...dialog}
          onDone={({ email, id }) => {
            if (id === me.id) events.dispatchEvent(new Event('changed'));
            void done(say.roleDone, email, id);
          }}
        />
      )}
    </div>
  );
}
