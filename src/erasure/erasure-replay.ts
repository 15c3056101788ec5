import { Injectable, OnModuleInit } from '@nestjs/common';
import { ErasureService } from './erasure.service.js';

/** Repeats the erasures that the restore of a backup has undone, at the start, before any request is served. */
@Injectable()
export class ErasureReplay implements OnModuleInit {
  constructor(private readonly erasures: ErasureService) {}

  async onModuleInit(): Promise<void> {
    await this.erasures.replay();
  }
}
