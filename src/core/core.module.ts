import { DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './clock.js';
import { Config } from './config.js';
import { AppLogger } from './logger.js';

/** The settings, clock and log of the process. */
export interface CoreOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: AppLogger;
}

/** Provides settings, clock and log to every module. */
@Global()
@Module({})
export class CoreModule {
  static forRoot({ config, clock, log }: CoreOptions): DynamicModule {
    const providers = [
      { provide: Config, useValue: config },
      { provide: Clock, useValue: clock },
      { provide: AppLogger, useValue: log },
    ];
    return { module: CoreModule, providers, exports: providers };
  }
}
