import { Controller, Get, Header, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { problem } from '../http/problems/problem.js';
import { Languages, PAGES, type Page } from './languages.service.js';

/** Browsers ask again after this time, so that a changed file is soon shown. */
const CACHE_CONTROL = 'public, max-age=300';
const YEAR_SECONDS = 31_536_000;

/** `GET /languages` and `GET /languages/{tag}/{page}`: the languages of the portal and the privacy page, and their texts. */
@Controller('languages')
export class LanguagesController {
  constructor(private readonly languages: Languages) {}

  @Get()
  @Header('cache-control', CACHE_CONTROL)
  list() {
    return { languages: this.languages.views };
  }

  /** @param version of the list; the response to the present one never changes */
  @Get(':tag/:page')
  texts(
    @Param('tag') tag: string,
    @Param('page') page: string,
    @Query('v') version: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): object {
    const isPage = PAGES.includes(page as Page);
    const texts = isPage && this.languages.textsOf(tag, page as Page);
    if (!texts) throw problem('not_found');
    const isCurrent = this.languages.views.some((view) => view.tag === tag && view.version === version);
    void reply.header(
      'cache-control',
      isCurrent ? `public, max-age=${YEAR_SECONDS}, immutable` : CACHE_CONTROL,
    );
    return texts;
  }
}
