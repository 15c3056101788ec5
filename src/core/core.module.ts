import { DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './clock.js';
import { Config } from './config.js';
import { AppLogger } from './logger.js';

/** What the process was started with. */
export interface CoreOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: AppLogger;
}

/** Settings, time and log, which every module may inject. */
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
