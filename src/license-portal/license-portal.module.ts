import { Module } from '@nestjs/common';
import { ActivationModule } from '../activation/activation.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { HolderActivationsController } from './activations.controller.js';
import { HolderExport } from './export.service.js';
import { HolderDataController } from './holder-data.controller.js';
import { HolderGuard } from './holder.guard.js';
import { HolderLicensesController } from './licenses.controller.js';
import { HolderOverview } from './overview.service.js';
import { ReleaseRequests } from './release-requests.js';
import { SessionController } from './session.controller.js';
import { SignInCodes } from './sign-in-codes.js';
import { SignIn } from './sign-in.service.js';

/** What holders do for themselves. */
@Module({
  imports: [LicensesModule, ActivationModule, RetentionModule, KeysModule, MailModule],
  controllers: [
    SessionController,
    HolderLicensesController,
    HolderActivationsController,
    HolderDataController,
  ],
  providers: [SignIn, SignInCodes, HolderGuard, HolderOverview, HolderExport, ReleaseRequests],
  exports: [SignInCodes, ReleaseRequests],
})
export class LicensePortalModule {}
