import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../http/problem.js';
import { ManifestService } from './manifest.service.js';

/** Fresh for 5 minutes; a day-old copy is better than none while we cannot answer (contract, manifest). */
const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

/** `GET /v1/manifest`: anonymous, from memory, the same bytes for everyone. */
@Controller('v1/manifest')
export class ManifestController {
  constructor(private readonly manifests: ManifestService) {}

  @Get()
  manifest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const live = this.manifests.live;
    if (!live) throw problem('no_version_published');
    reply.header('etag', live.etag).header('cache-control', CACHE_CONTROL);
    if (matches(request.headers['if-none-match'], live.etag)) return void reply.code(304).send();
    void reply.type('application/json; charset=utf-8').send(live.body);
  }
}

/** RFC 9110, 13.1.2: a list, `*`, and weak comparison. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
