import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { LinkSignInController } from './links/link-sign-in.controller.js';
import { StaffLinkMails } from './links/staff-link-mails.js';
import { StaffLinks } from './links/staff-links.js';
import { PasskeyChallenges } from './passkeys/passkey-challenges.js';
import { PasskeyMails } from './passkeys/passkey-mails.js';
import { PasskeySignIn } from './passkeys/passkey-sign-in.js';
import { PasskeySignInController } from './passkeys/passkey-sign-in.controller.js';
import { PasskeysController } from './passkeys/passkeys.controller.js';
import { PasskeysService } from './passkeys/passkeys.service.js';
import { RelyingParty } from './passkeys/relying-party.js';
import { StaffSessionController } from './session.controller.js';
import { StaffIdentity } from './identity/staff-identity.js';
import { StaffController } from './staff.controller.js';
import { StaffService } from './staff.service.js';
import { StaffTokensService } from './tokens/staff-tokens.service.js';
import { TokensController } from './tokens/tokens.controller.js';

/** Staff accounts, and the sign-in of staff by passkey, one-time link or staff token. */
@Module({
  imports: [KeysModule, MailModule],
  controllers: [
    LinkSignInController,
    PasskeySignInController,
    StaffSessionController,
    PasskeysController,
    StaffController,
    TokensController,
  ],
  providers: [
    StaffService,
    StaffTokensService,
    StaffIdentity,
    StaffLinks,
    StaffLinkMails,
    RelyingParty,
    PasskeyChallenges,
    PasskeySignIn,
    PasskeysService,
    PasskeyMails,
  ],
  exports: [StaffIdentity],
})
export class StaffModule {}
