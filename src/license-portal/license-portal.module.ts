import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ReleasesModule } from '../releases/releases.module.js';
import { HolderActivationsController } from './activations.controller.js';
import { HolderExport } from './export.service.js';
import { HolderDataController } from './holder-data.controller.js';
import { HolderGuard } from './holder.guard.js';
import { HolderLicensesController } from './licenses.controller.js';
import { HolderOverview } from './overview.service.js';
import { SessionController } from './session.controller.js';
import { SignInCodes } from './sign-in-codes.js';
import { SignIn } from './sign-in.service.js';

/** What holders do for themselves. */
@Module({
  imports: [LicensesModule, ReleasesModule, ErasureModule, KeysModule, MailModule],
  controllers: [
    SessionController,
    HolderLicensesController,
    HolderActivationsController,
    HolderDataController,
  ],
  providers: [SignIn, SignInCodes, HolderGuard, HolderOverview, HolderExport],
  exports: [SignInCodes],
})
export class LicensePortalModule {}
