import { isUtf8 } from 'node:buffer';
import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Webhook } from 'standardwebhooks';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { problem } from '../http/problems/problem.js';
import { RateLimit } from '../http/limits/rate-limit.js';

/** The form of the timestamp, in Unix seconds. The library does not check it: it ignores characters after the number. */
const TIMESTAMP = /^[1-9]\d*$/;

/**
 * Accepts requests that are signed with PURCHASE_WEBHOOK_SECRET and whose timestamp differs by at most 5 minutes from
 * the current time (Standard Webhooks). Without this setting the route is `not_found`.
 */
@Injectable()
export class WebhookGuard implements CanActivate {
  readonly #webhook: Webhook | undefined;
  // Limits requests with a wrong signature to 60 a minute. Requests with a valid signature are not limited.
  readonly #wrongSignatures: RateLimit;

  constructor({ purchaseWebhookSecret }: Config, clock: Clock) {
    this.#wrongSignatures = new RateLimit(60, 60, undefined, () => clock.monotonic());
    this.#webhook = purchaseWebhookSecret === undefined ? undefined : new Webhook(purchaseWebhookSecret);
  }

  canActivate(context: ExecutionContext): boolean {
    if (!this.#webhook) throw problem('not_found');
    const { body, headers } = context.switchToHttp().getRequest<FastifyRequest<{ Body: Buffer }>>();
    // The library verifies the decoded text, in which each invalid byte becomes U+FFFD. A body with other invalid bytes
    // in the same places would have the same signature.
    if (Buffer.isBuffer(body) && !isUtf8(body)) throw problem('malformed_request');
    if (Buffer.isBuffer(body) && isSigned(this.#webhook, body, headers)) return true;
    this.#wrongSignatures.count('purchases');
    throw problem('webhook_signature_invalid');
  }
}

function isSigned(webhook: Webhook, body: Buffer, headers: FastifyRequest['headers']): boolean {
  if (!TIMESTAMP.test(String(headers['webhook-timestamp']))) return false;
  try {
    webhook.verify(body, headers as Record<string, string>, { jsonParse: false });
  } catch {
    return false;
  }
  return true;
}
