import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { ReleasesModule } from '../releases/releases.module.js';
import { StaffModule } from '../staff/staff.module.js';
import { ActivationsController } from './licenses/activations.controller.js';
import { AuditController } from './audit/audit.controller.js';
import { CrashGroupsService } from './fleet/crash-groups.service.js';
import { FleetController } from './fleet/fleet.controller.js';
import { LicensesController } from './licenses/licenses.controller.js';
import { ManifestsController } from './manifests/manifests.controller.js';
import { RetentionController } from './retention.controller.js';

/**
 * The support API for licenses, activations, the fleet, the audit trail, manifests and retention runs. The controllers
 * for release requests, erasures, staff and the state of the service are in other modules.
 */
@Module({
  imports: [ErasureModule, KeysModule, LicensesModule, ManifestModule, ReleasesModule, StaffModule],
  controllers: [
    LicensesController,
    ActivationsController,
    FleetController,
    AuditController,
    ManifestsController,
    RetentionController,
  ],
  providers: [CrashGroupsService],
})
export class SupportModule {}
