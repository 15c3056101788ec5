import { hash } from 'node:crypto';
import { Controller, Get, Headers, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { containsEtag } from '../http/parsing/if-none-match.js';
import { problem } from '../http/problems/problem.js';
import { Languages, PAGES, type Page } from './languages.service.js';

/** If the requested version is missing or not the current one: browsers ask again after 5 minutes. */
const OTHER_VERSION_CACHE_CONTROL = 'public, max-age=300';
const YEAR_SECONDS = 31_536_000;

/** `GET /languages` and `GET /languages/{tag}/{page}`: the languages of the portal and the privacy page, and their texts. */
@Controller('languages')
export class LanguagesController {
  constructor(private readonly languages: Languages) {}

  /**
   * Returns the languages, and with `page` also the texts of this page in the best one for the browser. So the first visit of a
   * page needs one request for both, and its scripts contain no texts.
   */
  @Get()
  list(
    @Query('page') page: string | undefined,
    @Headers('accept-language') acceptLanguage: string | undefined,
    @Headers('if-none-match') knownEtags: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): string {
    const tag = this.languages.bestFor(acceptLanguage) ?? 'en';
    const answer = {
      languages: this.languages.views,
      ...(page !== undefined && { tag, texts: this.#textsOf(tag, page) }),
    };
    const body = JSON.stringify(answer);
    const etag = `"${hash('sha256', body).slice(0, 16)}"`;
    // Browsers ask at each visit, as they do for the page: after an update its scripts need the texts of the same version.
    void reply.headers({ 'cache-control': 'no-cache', vary: 'accept-language', etag });
    const isKnown = containsEtag(knownEtags, etag);
    void (isKnown ? reply.code(304) : reply.type('application/json; charset=utf-8'));
    return isKnown ? '' : body;
  }

  /** Returns the texts of a page. If `version` is the current one in the list of languages, browsers may keep them for a year. */
  @Get(':tag/:page')
  texts(
    @Param('tag') tag: string,
    @Param('page') page: string,
    @Query('v') version: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): object {
    const texts = this.#textsOf(tag, page);
    const isCurrent = this.languages.views.some((view) => view.tag === tag && view.version === version);
    void reply.header(
      'cache-control',
      isCurrent ? `public, max-age=${YEAR_SECONDS}, immutable` : OTHER_VERSION_CACHE_CONTROL,
    );
    return texts;
  }

  #textsOf(tag: string, page: string): object {
    const texts = PAGES.includes(page as Page) && this.languages.textsOf(tag, page as Page);
    if (!texts) throw problem('not_found');
    return texts;
  }
}
