import { Stranger } from '../../shared/fill.js';
import { ViewTitle } from '../parts/view-title.js';
import type { Session } from '../types.js';
import { words } from '../words.js';
import { Passkeys } from './passkeys.js';

export function AccountView({ session }: { session: Session }) {
  const { account: say, roles } = words;
  return (
    <div class="flow">
      <ViewTitle>{say.title}</ViewTitle>
      <dl class="facts">
        <div>
          <dt>{say.email}</dt>
          <dd>
            <Stranger text={session.email} />
          </dd>
        </div>
        <div>
          <dt>{say.role}</dt>
          <dd>
            {roles[session.role]}: {say.roleMeans[session.role]}
          </dd>
        </div>
      </dl>
      <Passkeys />
    </div>
  );
}
