import { Controller, Get, Headers, HttpStatus, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { pagesAreBuilt } from '../http/pages.js';
import { problem } from '../http/problems/problem.js';

/**
 * `GET /`: redirects a browser to the license portal. Other clients get `not_found`, as for each unknown path. If the
 * pages are not built, browsers get `not_found` too.
 */
@Controller()
export class RootRedirectController {
  @Get()
  root(@Headers('accept') accept: string | undefined, @Res({ passthrough: true }) reply: FastifyReply): void {
    if (!accept?.includes('text/html') || !pagesAreBuilt()) throw problem('not_found');
    // The location is relative, because PUBLIC_URL may have a path.
    void reply.status(HttpStatus.FOUND).header('location', 'portal/').header('vary', 'accept');
  }
}
