import { Button } from '../../shared/button.js';
import { day, number, plural } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { Table, type Column } from '../parts/table.js';
import type { StaffMember } from '../../shared/api-types.js';
import type { Role } from '../types.js';
import { messages } from '../messages.js';

export type StaffAction = 'role' | 'link' | 'remove';

const texts = messages.staff;

interface Props {
  readonly staff: readonly StaffMember[];
  readonly me: string;
  /** A link is being mailed. */
  readonly mailing: boolean;
  readonly changed: string | undefined;
  readonly onAction: (action: StaffAction, member: StaffMember) => void;
}

export const otherRole = ({ role }: StaffMember): Role => (role === 'admin' ? 'support' : 'admin');

export function StaffTable({ staff, me, mailing, changed, onAction }: Props) {
  const columns: Column<StaffMember>[] = [
    {
      name: texts.email,
      head: true,
      cell: ({ id, email }) => (
        <>
          <UntrustedText text={email} /> {id === me && <span class="tag accent">{texts.you}</span>}
        </>
      ),
    },
    { name: texts.role, cell: ({ role }) => messages.roles[role] },
    { name: texts.since, cell: ({ created_at }) => day(created_at) },
    {
      name: texts.passkeys,
      cell: ({ passkeys }) =>
        passkeys > 0 ? number(passkeys) : <span class="tag warning">{texts.noPasskey}</span>,
    },
    {
      name: texts.actions,
      plain: true,
      cell: (member) => (
        <Actions member={member} mailing={mailing} onAction={(action) => onAction(action, member)} />
      ),
    },
  ];
  return (
    <Table
      caption={plural(staff.length, texts.caption)}
      columns={columns}
      rows={staff}
      idOf={({ id }) => id}
      changed={changed}
    />
  );
}

interface ActionsProps {
  readonly member: StaffMember;
  readonly mailing: boolean;
  readonly onAction: (action: StaffAction) => void;
}

function Actions({ member, mailing, onAction }: ActionsProps) {
  const { email, passkeys } = member;
  const role = otherRole(member);
  return (
    <span class="row-actions">
      {passkeys === 0 && (
        <Button busy={mailing} label={t(texts.linkLabel, { email })} onClick={() => onAction('link')}>
          {texts.link}
        </Button>
      )}
      <Button label={t(texts.roleLabel[role], { email })} onClick={() => onAction('role')}>
        {role === 'admin' ? texts.makeAdmin : texts.makeSupport}
      </Button>
      <Button kind="harm" label={t(texts.removeLabel, { email })} onClick={() => onAction('remove')}>
        {texts.remove}
      </Button>
    </span>
  );
}
