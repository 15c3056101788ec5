import { Controller, Get, OnModuleInit, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SECURITY_HEADERS } from '../http/strip-client-address.js';
import { servePreparedResponse, type PreparedResponse } from '../http/responses/prepared-response.js';
import { AppLogger } from '../core/logger.js';
import { problem } from '../http/problems/problem.js';
import { ManifestService, type LiveManifest } from './manifest.service.js';

const MANIFEST_PATH = 'v1/manifest';
/** Fresh for 5 minutes; caches may serve a copy for a day while the service fails (docs/contract.md#update-manifest). */
const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

/** `GET /v1/manifest`: anonymous, served from memory, the same bytes for each client. */
@Controller(MANIFEST_PATH)
export class ManifestController implements OnModuleInit {
  #responses?: ReturnType<typeof prepareResponses>;

  constructor(
    private readonly manifests: ManifestService,
    private readonly host: HttpAdapterHost,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    servePreparedResponse(fastify, `/${MANIFEST_PATH}`, (ifNoneMatch) => this.respond(ifNoneMatch), this.log);
  }

  @Get()
  manifest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const response = this.respond(request.headers['if-none-match']);
    if (!response) throw problem('no_version_published');
    // Without a body Fastify sends no content type.
    void reply
      .code(response.status)
      .headers(response.headers)
      .send(response.body || undefined);
  }

  private respond(ifNoneMatch: string | undefined): PreparedResponse | null {
    const { live } = this.manifests;
    if (!live) return null;
    if (this.#responses?.live !== live) this.#responses = prepareResponses(live);
    return matches(ifNoneMatch, live.etag) ? this.#responses.unchanged : this.#responses.whole;
  }
}

/** The responses 200 and 304, prepared once for each manifest. */
function prepareResponses(live: LiveManifest) {
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
