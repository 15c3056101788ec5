import { DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { isTemporaryDatabaseError } from './temporary-errors.js';
import { DatabaseUrl, requestDataSourceOptions } from './data-source.js';
import { HostsWatch } from './hosts-watch.js';

/** Provides the data source of requests, and the URL of the database for other connections. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(databaseUrl: string): DynamicModule {
    const providers = [{ provide: DatabaseUrl, useValue: new DatabaseUrl(databaseUrl) }, HostsWatch];
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRoot({
          ...requestDataSourceOptions(databaseUrl),
          autoLoadEntities: true,
          // The migrations have already reached the database, so a connection error here is temporary.
          retryAttempts: 5,
          retryDelay: 500,
          toRetry: isTemporaryDatabaseError,
        }),
      ],
      providers,
      exports: providers,
    };
  }
}
