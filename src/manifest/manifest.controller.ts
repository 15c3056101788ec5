import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../http/problems/problem.js';
import { MANIFEST_PATH, ManifestResponses } from './manifest-responses.js';

/** `GET /v1/manifest`, without sign-in. `servePrepared` answers most requests before this controller (docs/decisions/0017). */
@Controller(MANIFEST_PATH)
export class ManifestController {
  constructor(private readonly responses: ManifestResponses) {}

  @Get()
  manifest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const response = this.responses.respond(request.headers['if-none-match']);
    if (!response) throw problem('no_version_published');
    // A 304 has an empty body. Fastify adds a content type for an empty string, and none for undefined.
    void reply
      .code(response.status)
      .headers(response.headers)
      .send(response.body || undefined);
  }
}
