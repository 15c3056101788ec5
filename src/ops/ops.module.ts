import { Module } from '@nestjs/common';
import { HeartbeatModule } from '../heartbeat/heartbeat.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { Backlog } from './backlog.js';
import { ConnectionFigures } from './connection.figures.js';
import { DataFigures } from './data.figures.js';
import type { Measured } from './figures.js';
import { HeartbeatFigures } from './heartbeat.figures.js';
import { MEASURED, Metrics } from './metrics.js';
import { OpsController } from './ops.controller.js';
import { PrivacyController } from './privacy.controller.js';
import { ProcessFigures } from './process.figures.js';
import { RequestFigures } from './request.figures.js';
import { WarningsService } from './warnings.service.js';

const FIGURES = [RequestFigures, HeartbeatFigures, ConnectionFigures, DataFigures, ProcessFigures];

@Module({
  imports: [ManifestModule, KeysModule, HeartbeatModule, MailModule],
  controllers: [OpsController, PrivacyController],
  providers: [
    WarningsService,
    Backlog,
    ...FIGURES,
    { provide: MEASURED, inject: FIGURES, useFactory: (...figures: Measured[]) => figures },
    Metrics,
  ],
  exports: [WarningsService],
})
export class OpsModule {}
