import { UntrustedText } from '../../shared/texts/text.js';
import { Fact } from '../parts/fact.js';
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
        <Fact name={texts.email}>
          <UntrustedText text={session.email} />
        </Fact>
        <Fact name={texts.role}>
          {roles[session.role]}: {texts.roleMeans[session.role]}
        </Fact>
      </dl>
      <Passkeys />
      <Keyboard />
    </div>
  );
}
