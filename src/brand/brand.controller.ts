import { Controller, Get, Header, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Brand } from '../core/brand.js';
import { Config } from '../core/config.js';
import { problem } from '../http/problems/problem.js';
import type { Brand as BrandAnswer } from '../http/responses/api-types.js';
import { Logo } from './logo.js';

/** Browsers request the brand and the logo again after 5 minutes, so that a changed setting is soon shown. */
const CACHE_CONTROL = 'public, max-age=300';

/** `GET /brand` and `GET /brand/logo`: what the pages show about the product and its vendor. */
@Controller('brand')
export class BrandController {
  readonly #answer: BrandAnswer;

  constructor(
    { brand }: Config,
    private readonly logo: Logo,
  ) {
    this.#answer = answerOf(brand);
  }

  @Get()
  @Header('cache-control', CACHE_CONTROL)
  brand(): BrandAnswer {
    return this.#answer;
  }

  @Get('logo')
  async image(@Res() reply: FastifyReply): Promise<void> {
    const { image } = this.logo;
    if (!image) throw problem('not_found');
    await reply
      .headers({
        'cache-control': CACHE_CONTROL,
        'content-type': image.type,
        // An SVG file can contain scripts. An `img` element does not run them. This policy forbids them if the file is opened
        // alone.
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      })
      .send(image.bytes);
  }
}

/** Converts the settings of the brand. */
const answerOf = ({ accent, ...brand }: Brand): BrandAnswer => ({
  product_name: brand.productName,
  vendor_name: brand.vendorName,
  support_contact: brand.supportContact,
  privacy_contact: brand.privacyContact,
  shop_url: brand.shopUrl,
  renewal_url: brand.renewalUrl,
  accent: accent && {
    light: accent.light,
    light_strong: accent.lightStrong,
    dark: accent.dark,
    dark_strong: accent.darkStrong,
  },
  has_logo: brand.logoFile !== null,
});
