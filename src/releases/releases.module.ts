import { Module } from '@nestjs/common';
import { LanguagesModule } from '../languages/languages.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { MailModule } from '../mail/mail.module.js';
import { StaffModule } from '../staff/staff.module.js';
import { ReleaseRequestMails } from './release-request-mails.js';
import { ReleaseDecisions } from './release-decisions.js';
import { ReleaseRequests } from './release-requests.js';
import { ReleaseRequestsController } from './release-requests.controller.js';
import { ReleaseService } from './release.service.js';

/** Releases of machines by holders and staff, and release requests. */
@Module({
  imports: [LanguagesModule, LicensesModule, MailModule, StaffModule],
  controllers: [ReleaseRequestsController],
  providers: [ReleaseService, ReleaseRequests, ReleaseDecisions, ReleaseRequestMails],
  exports: [ReleaseService, ReleaseRequests],
})
export class ReleasesModule {}
