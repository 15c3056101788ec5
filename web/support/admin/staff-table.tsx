import { Button } from '../../shared/button.js';
import { day, number, plural } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { say as put } from '../../shared/say.js';
import { Table, type Column } from '../parts/table.js';
import type { Role, StaffMember } from '../types.js';
import { words } from '../words.js';

export type StaffDeed = 'role' | 'link' | 'remove';

const say = words.staff;

interface Props {
  readonly staff: readonly StaffMember[];
  readonly me: string;
  /** A link is being mailed. */
  readonly mailing: boolean;
  readonly changed: string | undefined;
  readonly onDeed: (deed: StaffDeed, member: StaffMember) => void;
}

export const otherRole = ({ role }: StaffMember): Role => (role === 'admin' ? 'support' : 'admin');

export function StaffTable({ staff, me, mailing, changed, onDeed }: Props) {
  const columns: Column<StaffMember>[] = [
    {
      name: say.email,
      head: true,
      cell: ({ id, email }) => (
        <>
          <Stranger text={email} /> {id === me && <span class="tag accent">{say.you}</span>}
        </>
      ),
    },
    { name: say.role, cell: ({ role }) => words.roles[role] },
    { name: say.since, cell: ({ created_at }) => day(created_at) },
    {
      name: say.passkeys,
      cell: ({ passkeys }) =>
        passkeys > 0 ? number(passkeys) : <span class="tag warning">{say.noPasskey}</span>,
    },
    {
      name: say.actions,
      plain: true,
      cell: (member) => <Deeds member={member} mailing={mailing} onDeed={(deed) => onDeed(deed, member)} />,
    },
  ];
  return (
    <Table
      caption={plural(staff.length, say.caption)}
      columns={columns}
      rows={staff}
      idOf={({ id }) => id}
      changed={changed}
    />
  );
}

interface DeedsProps {
  readonly member: StaffMember;
  readonly mailing: boolean;
  readonly onDeed: (deed: StaffDeed) => void;
}

function Deeds({ member, mailing, onDeed }: DeedsProps) {
  const { email, passkeys } = member;
  const role = otherRole(member);
  return (
    <span class="deeds">
      {passkeys === 0 && (
        <Button busy={mailing} label={put(say.linkLabel, { email })} onClick={() => onDeed('link')}>
          {say.link}
        </Button>
      )}
      <Button label={put(say.roleLabel[role], { email })} onClick={() => onDeed('role')}>
        {role === 'admin' ? say.makeAdmin : say.makeSupport}
      </Button>
      <Button kind="harm" label={put(say.removeLabel, { email })} onClick={() => onDeed('remove')}>
        {say.remove}
      </Button>
    </span>
  );
}
