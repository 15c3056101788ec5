import { UntrustedText } from '../../shared/texts/text.js';
import { ViewTitle } from '../parts/view-title.js';
import type { StaffSessionAnswer } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { Keyboard } from './keyboard.js';
import { Passkeys } from './passkeys.js';

export function AccountView({ session }: { session: StaffSessionAnswer }) {
  const { account: texts, roles } = messages;
  return (
    <div class="flow">
      <ViewTitle>{texts.title}</ViewTitle>
      <dl class="facts">
        <div>
          <dt>{texts.email}</dt>
          <dd>
            <UntrustedText text={session.email} />
          </dd>
        </div>
        <div>
          <dt>{texts.role}</dt>
          <dd>
            {roles[session.role]}: {texts.roleMeans[session.role]}
          </dd>
        </div>
      </dl>
      <Passkeys />
      <Keyboard />
    </div>
  );
}
