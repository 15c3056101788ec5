import { DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Clock } from './clock.js';
import { Config } from './config.js';
import { isDatabaseAway } from './database/database-away.js';
import { DatabaseUrl, requestDataSource } from './database/data-source.js';
import { Log } from './http/log.js';
import { Sessions } from './http/session.js';

/** What the program was started with. */
export interface Ground {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly databaseUrl: string;
}

/** The ground that every room stands on: settings, time, log and database. */
@Global()
@Module({})
export class GroundModule {
  static on({ config, clock, log, databaseUrl }: Ground): DynamicModule {
    const providers = [
      { provide: Config, useValue: config },
      { provide: Clock, useValue: clock },
      { provide: Log, useValue: log },
      { provide: DatabaseUrl, useValue: new DatabaseUrl(databaseUrl) },
      Sessions,
    ];
    return {
      module: GroundModule,
      imports: [
        TypeOrmModule.forRoot({
          ...requestDataSource(databaseUrl),
          autoLoadEntities: true,
          // It has answered already: what comes now is a machine that is slow just then.
          retryAttempts: 5,
          retryDelay: 500,
          toRetry: isDatabaseAway,
        }),
      ],
      providers,
      exports: providers,
    };
  }
}
