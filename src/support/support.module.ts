import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivationModule } from '../activation/activation.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { MailModule } from '../mail/mail.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { ActivationsController } from './activations.controller.js';
import { ErasuresController } from './erasures.controller.js';
import { FleetController } from './fleet.controller.js';
import { LicensesController } from './licenses.controller.js';
import { ReleaseDecisionMails } from './release-decision-mails.js';
import { ReleaseDecisions } from './release-decisions.js';
import { ReleaseRequestsController } from './release-requests.controller.js';
import { SessionController } from './session.controller.js';
import { SignInController } from './sign-in.controller.js';
import { StaffIdentity } from './staff-identity.js';
import { StaffLinkMails } from './staff-link-mails.js';
import { StaffLinks } from './staff-links.js';
import { Staff } from './staff.entity.js';
import { StaffService } from './staff.service.js';
import { StaffToken } from './staff-token.entity.js';
import { StaffTokensService } from './staff-tokens.service.js';

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
    SignInController,
    SessionController,
    LicensesController,
    ActivationsController,
    ReleaseRequestsController,
    ErasuresController,
    FleetController,
  ],
  providers: [
    StaffService,
    StaffTokensService,
    StaffIdentity,
    StaffLinks,
    StaffLinkMails,
    ReleaseDecisions,
    ReleaseDecisionMails,
  ],
  exports: [StaffService, StaffLinks],
})
export class SupportModule {}
