import { Injectable, OnModuleInit } from '@nestjs/common';
import { ErasureService } from './erasure.service.js';

/** Repeats at start, before any request is served, the erasures that a restored backup has undone. */
@Injectable()
export class ErasureReplay implements OnModuleInit {
  constructor(private readonly erasures: ErasureService) {}

  async onModuleInit(): Promise<void> {
    await this.erasures.replay();
  }
}
