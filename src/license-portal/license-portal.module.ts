import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module.js';
import { LanguagesModule } from '../languages/languages.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ReleasesModule } from '../releases/releases.module.js';
import { HolderActivationsController } from './activations.controller.js';
import { HolderExportService } from './export.service.js';
import { HolderDataController } from './holder-data.controller.js';
import { HolderGuard } from './holder.guard.js';
import { HolderLicensesController } from './licenses.controller.js';
import { HolderOverviewService } from './overview.service.js';
import { HolderSessionController } from './session.controller.js';
import { RootRedirectController } from './root-redirect.controller.js';
import { SignInCodes } from './sign-in-codes.js';
import { SignInService } from './sign-in.service.js';

/** The API of the license portal, in which holders manage their licenses and data, and the redirect from `/` to the portal. */
@Module({
  imports: [LanguagesModule, LicensesModule, ReleasesModule, ErasureModule, KeysModule, MailModule],
  controllers: [
    HolderSessionController,
    HolderLicensesController,
    HolderActivationsController,
    HolderDataController,
    RootRedirectController,
  ],
  providers: [SignInService, SignInCodes, HolderGuard, HolderOverviewService, HolderExportService],
})
export class LicensePortalModule {}
