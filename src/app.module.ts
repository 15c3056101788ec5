import { DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ServeStaticModule } from '@nestjs/serve-static';
import { ActivationModule } from './activation/activation.module.js';
import { BrandModule } from './brand/brand.module.js';
import { CoreModule, type CoreOptions } from './core/core.module.js';
import { DatabaseModule } from './database/database.module.js';
import { ErasureModule } from './erasure/erasure.module.js';
import { EventsModule } from './events/events.module.js';
import { staticPagesOptions } from './http/pages.js';
import { SessionsModule } from './http/sessions/sessions.module.js';
import { HeartbeatModule } from './heartbeat/heartbeat.module.js';
import { KeysModule } from './keys/keys.module.js';
import { LanguagesModule } from './languages/languages.module.js';
import { LicensePortalModule } from './license-portal/license-portal.module.js';
import { LicensesModule } from './licenses/licenses.module.js';
import { MailModule } from './mail/mail.module.js';
import { ManifestModule } from './manifest/manifest.module.js';
import { MonitoringModule } from './monitoring/monitoring.module.js';
import { PurchasesModule } from './purchases/purchases.module.js';
import { ReleasesModule } from './releases/releases.module.js';
import { RetentionModule } from './retention/retention.module.js';
import { StaffModule } from './staff/staff.module.js';
import { SupportModule } from './support/support.module.js';
import { TelemetryModule } from './telemetry/telemetry.module.js';

/** What `AppModule` needs from the program that starts it. */
interface AppOptions extends CoreOptions {
  /** DATABASE_URL, or without it the URL of the embedded database in DATA_DIR. */
  readonly databaseUrl: string;
}

/** The whole service, one module for each feature (docs/architecture.md). */
@Module({})
export class AppModule {
  static forRoot({ databaseUrl, ...core }: AppOptions): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CoreModule.forRoot(core),
        DatabaseModule.forRoot(databaseUrl),
        ScheduleModule.forRoot(),
        ServeStaticModule.forRoot(staticPagesOptions(core.config)),
        SessionsModule,
        BrandModule,
        LanguagesModule,
        KeysModule,
        MailModule,
        LicensesModule,
        StaffModule,
        ManifestModule,
        ActivationModule,
        ReleasesModule,
        TelemetryModule,
        HeartbeatModule,
        ErasureModule,
        PurchasesModule,
        EventsModule,
        RetentionModule,
        LicensePortalModule,
        SupportModule,
        MonitoringModule,
      ],
    };
  }
}
