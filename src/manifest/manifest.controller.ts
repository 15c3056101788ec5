import { Controller, Get, OnModuleInit, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SECURITY_HEADERS } from '../http/strip-client-address.js';
import { servePreparedResponse, type PreparedResponse } from '../http/responses/prepared-response.js';
import { AppLogger } from '../core/logger.js';
import { problem } from '../http/problems/problem.js';
import { ManifestService, type LiveManifest } from './manifest.service.js';

const PATH = 'v1/manifest';
/** Fresh for 5 minutes; a day-old copy is better than none while we cannot answer (contract, manifest). */
const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

/** `GET /v1/manifest`: anonymous, from memory, the same bytes for everyone. */
@Controller(PATH)
export class ManifestController implements OnModuleInit {
  #ready?: ReturnType<typeof readyFor>;

  constructor(
    private readonly manifests: ManifestService,
    private readonly host: HttpAdapterHost,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    servePreparedResponse(fastify, `/${PATH}`, (ifNoneMatch) => this.answer(ifNoneMatch), this.log);
  }

  @Get()
  manifest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const answer = this.answer(request.headers['if-none-match']);
    if (!answer) throw problem('no_version_published');
    // Without a body Fastify sends no type of one either.
    void reply
      .code(answer.status)
      .headers(answer.headers)
      .send(answer.body || undefined);
  }

  private answer(ifNoneMatch: string | undefined): PreparedResponse | null {
    const { live } = this.manifests;
    if (!live) return null;
    if (this.#ready?.live !== live) this.#ready = readyFor(live);
    return matches(ifNoneMatch, live.etag) ? this.#ready.unchanged : this.#ready.whole;
  }
}

/** Both answers, made once for each manifest. */
function readyFor(live: LiveManifest) {
  const headers = { ...SECURITY_HEADERS, etag: live.etag, 'cache-control': CACHE_CONTROL };
  const content = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(live.body),
  };
  const whole: PreparedResponse = { status: 200, headers: { ...headers, ...content }, body: live.body };
  const unchanged: PreparedResponse = { status: 304, headers, body: '' };
  return { live, whole, unchanged };
}

/** RFC 9110, 13.1.2: a list, `*`, and weak comparison. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
