import { Controller, Get, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { Languages } from '../../languages/languages.service.js';
import { describePrivacyData, readPrivacyData } from './privacy-data.js';

/** The page is public, so each result is reused for a minute. Only a failed query is repeated earlier. */
const CACHE_MS = 60_000;

/** `GET /privacy/data`: the data of the public privacy page. */
@Controller('privacy/data')
export class PrivacyController {
  #cached: { readonly at: number; readonly data: ReturnType<typeof readPrivacyData> } | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly languages: Languages,
  ) {}

  /** @param language of the descriptions */
  @Get()
  async data(@Query('language') language = 'en', @Res({ passthrough: true }) reply: FastifyReply) {
    const now = this.clock.now();
    const at = now.getTime();
    if (!this.#cached || Math.abs(at - this.#cached.at) >= CACHE_MS) {
      const cached = { at, data: readPrivacyData(this.dataSource, this.config, now) };
      this.#cached = cached;
      // A failure is passed to the callers that wait for it, and not cached.
      cached.data.catch(() => this.#cached === cached && (this.#cached = undefined));
    }
    const data = await this.#cached.data;
    // The header is set after the query, so that browsers do not cache a failure.
    reply.header('cache-control', 'public, max-age=60');
    return describePrivacyData(data, language, this.languages.descriptionsIn(language));
  }
}
