import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivationModule } from '../activation/activation.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { MailModule } from '../mail/mail.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { ActivationsController } from './activations.controller.js';
import { AuditController } from './audit.controller.js';
import { ErasuresController } from './erasures.controller.js';
import { FleetController } from './fleet.controller.js';
import { LinkSignInController } from './link-sign-in.controller.js';
import { LicensesController } from './licenses.controller.js';
import { ManifestsController } from './manifests.controller.js';
import { PasskeyChallenges } from './passkey-challenges.js';
import { PasskeyMails } from './passkey-mails.js';
import { PasskeysController } from './passkeys.controller.js';
import { PasskeySignIn } from './passkey-sign-in.js';
import { PasskeySignInController } from './passkey-sign-in.controller.js';
import { PasskeysService } from './passkeys.service.js';
import { RelyingParty } from './relying-party.js';
import { ReleaseDecisionMails } from './release-decision-mails.js';
import { ReleaseDecisions } from './release-decisions.js';
import { ReleaseRequestsController } from './release-requests.controller.js';
import { RetentionController } from './retention.controller.js';
import { SessionController } from './session.controller.js';
import { StaffIdentity } from './staff-identity.js';
import { StaffLinkMails } from './staff-link-mails.js';
import { StaffLinks } from './staff-links.js';
import { StaffController } from './staff.controller.js';
import { Staff } from './staff.entity.js';
import { StaffService } from './staff.service.js';
import { StaffToken } from './staff-token.entity.js';
import { StaffTokensService } from './staff-tokens.service.js';
import { TokensController } from './tokens.controller.js';

/** What staff do, and how they sign in. */
@Module({
  imports: [
    ActivationModule,
    KeysModule,
    LicensesModule,
    MailModule,
    RetentionModule,
    TypeOrmModule.forFeature([Staff, StaffToken]),
  ],
  controllers: [
    LinkSignInController,
    PasskeySignInController,
    SessionController,
    PasskeysController,
    LicensesController,
    ActivationsController,
    ReleaseRequestsController,
    ErasuresController,
    FleetController,
    AuditController,
    ManifestsController,
    RetentionController,
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
    ReleaseDecisions,
    ReleaseDecisionMails,
  ],
  exports: [StaffService, StaffLinks],
})
export class SupportModule {}
