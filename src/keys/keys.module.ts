import { Inject, Module, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { AppLogger } from '../core/logger.js';
import { KeyRing } from './tokens/key-ring.js';
import { openKeyRing, readLicenseKeys, trustedManifestKeys } from './key-material.js';
import { KeysController } from './keys.controller.js';
import { LicenseKeys } from './license-keys.js';
import { ManifestKeys } from './manifests/manifest-keys.js';

/** Provides license keys, token keys and the public manifest keys (docs/keys.md). */
@Module({
  controllers: [KeysController],
  providers: [
    { provide: LicenseKeys, inject: [Config], useFactory: readLicenseKeys },
    {
      provide: KeyRing,
      inject: [Config, Clock],
      useFactory: (config: Config, clock: Clock) => openKeyRing(config, clock.now()),
    },
    {
      provide: ManifestKeys,
      inject: [Config],
      useFactory: async (config: Config) => new ManifestKeys(await trustedManifestKeys(config)),
    },
  ],
  exports: [LicenseKeys, KeyRing, ManifestKeys],
})
export class KeysModule implements OnApplicationBootstrap, OnApplicationShutdown {
  #stopWatching?: () => void;

  constructor(
    @Inject(KeyRing) private readonly ring: KeyRing,
    @Inject(AppLogger) private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.#stopWatching = this.ring.watch(({ message }) =>
      this.log.warning('token keys not reloaded', { reason: message }),
    );
  }

  onApplicationShutdown(): void {
    this.#stopWatching?.();
  }
}
