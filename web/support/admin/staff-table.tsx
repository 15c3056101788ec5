import { Button } from '../../shared/forms/button.js';
import { formatDay, formatNumber, plural } from '../../shared/dates/dates.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { Table, type Column } from '../parts/table.js';
import type { StaffMember } from '../../../src/http/responses/api-types.js';
import type { Role } from '../types.js';
import { messages } from '../messages.js';

export type StaffAction = 'role' | 'link' | 'remove';

const texts = messages.staff;

interface Props {
  readonly staff: readonly StaffMember[];
  /** The id of the signed-in person. */
  readonly ownId: string;
  /** The id of the staff member to whom a link is being mailed; undefined if no link is. */
  readonly mailing: string | undefined;
  /** The id of the staff member that was just changed, whose row is highlighted; undefined if there is none. */
  readonly changed: string | undefined;
  readonly onAction: (action: StaffAction, member: StaffMember) => void;
}

export const otherRole = ({ role }: StaffMember): Role => (role === 'admin' ? 'support' : 'admin');

export function StaffTable({ staff, ownId, mailing, changed, onAction }: Props) {
  const columns: Column<StaffMember>[] = [
    {
      name: texts.email,
      isRowHeader: true,
      cell: ({ id, email }) => (
        <>
          <UntrustedText text={email} /> {id === ownId && <span class="tag accent">{texts.you}</span>}
        </>
      ),
    },
    { name: texts.role, cell: ({ role }) => messages.roles[role] },
    { name: texts.since, cell: ({ created_at }) => formatDay(created_at) },
    {
      name: texts.passkeys,
      cell: ({ passkeys }) =>
        passkeys > 0 ? formatNumber(passkeys) : <span class="tag warning">{texts.noPasskey}</span>,
    },
    {
      name: texts.actions,
      hidesName: true,
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
      changed={[changed]}
    />
  );
}

interface ActionsProps {
  readonly member: StaffMember;
  readonly mailing: string | undefined;
  readonly onAction: (action: StaffAction) => void;
}

function Actions({ member, mailing, onAction }: ActionsProps) {
  const { email, passkeys } = member;
  const role = otherRole(member);
  return (
    <span class="row-actions">
      {passkeys === 0 && (
        <Button
          busy={mailing === member.id}
          isBlocked={mailing !== undefined}
          label={t(texts.linkLabel, { email })}
          onClick={() => onAction('link')}
        >
          {texts.link}
        </Button>
      )}
      <Button label={t(texts.roleLabel[role], { email })} onClick={() => onAction('role')}>
        {texts.roleButton[role]}
      </Button>
      <Button kind="harm" label={t(texts.removeLabel, { email })} onClick={() => onAction('remove')}>
        {texts.remove}
      </Button>
    </span>
  );
}
