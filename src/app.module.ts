import { DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ServeStaticModule } from '@nestjs/serve-static';
import { ActivationModule } from './activation/activation.module.js';
import { GroundModule, type Ground } from './ground.module.js';
import { pages } from './http/pages.js';
import { HeartbeatModule } from './heartbeat/heartbeat.module.js';
import { KeysModule } from './keys/keys.module.js';
import { LicensePortalModule } from './license-portal/license-portal.module.js';
import { LicensesModule } from './licenses/licenses.module.js';
import { ManifestModule } from './manifest/manifest.module.js';
import { OpsModule } from './ops/ops.module.js';
import { PurchasesModule } from './purchases/purchases.module.js';
import { RetentionModule } from './retention/retention.module.js';
import { SupportModule } from './support/support.module.js';

/** The table of contents. */
@Module({})
export class AppModule {
  static on(ground: Ground): DynamicModule {
    return {
      module: AppModule,
      imports: [
        GroundModule.on(ground),
        ScheduleModule.forRoot(),
        ServeStaticModule.forRoot(pages(ground.config)),
        KeysModule,
        LicensesModule,
        ActivationModule,
        HeartbeatModule,
        ManifestModule,
        PurchasesModule,
        LicensePortalModule,
        RetentionModule,
        SupportModule,
        OpsModule,
      ],
    };
  }
}
