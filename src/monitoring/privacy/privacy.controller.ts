import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { privacyData } from './privacy-data.js';

/** Anyone may ask, so the database is asked once a minute at most. */
const FRESH_MS = 60_000;

/** `GET /privacy/data`: what the public page shows. */
@Controller('privacy/data')
export class PrivacyController {
  #asked: { readonly at: number; readonly data: ReturnType<typeof privacyData> } | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  @Get()
  async data(@Res({ passthrough: true }) reply: FastifyReply) {
    const now = this.clock.now().getTime();
    if (!this.#asked || Math.abs(now - this.#asked.at) >= FRESH_MS) {
      const asked = { at: now, data: privacyData(this.dataSource, this.config) };
      this.#asked = asked;
      // A failure is told to those who waited for it, and forgotten.
      asked.data.catch(() => this.#asked === asked && (this.#asked = undefined));
    }
    const data = await this.#asked.data;
    // Not before: a failure is nothing to keep.
    reply.header('cache-control', 'public, max-age=60');
    return data;
  }
}
