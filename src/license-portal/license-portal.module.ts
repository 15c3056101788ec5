import { Module } from '@nestjs/common';
import { LicensesModule } from '../licenses/licenses.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ReleaseRequests } from './release-requests.js';
import { SignInCodes } from './sign-in-codes.js';

/** What holders do for themselves. */
@Module({
  imports: [LicensesModule, KeysModule, MailModule],
  providers: [SignInCodes, ReleaseRequests],
  exports: [SignInCodes, ReleaseRequests],
})
export class LicensePortalModule {}
