import { hash } from 'node:crypto';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { AppLogger } from '../core/logger.js';
import { containsEtag } from '../http/parsing/if-none-match.js';
import { SECURITY_HEADERS } from '../http/responses/security-headers.js';
import { servePrepared, type PreparedResponse } from '../http/responses/prepared-response.js';
import { ManifestService, type LiveManifest } from './manifest.service.js';

/** The path of the update manifest, for the controller and for `servePrepared`. */
export const MANIFEST_PATH = '/v1/manifest';

/** A copy is fresh for 5 minutes. Caches may serve it for a day while the service fails (docs/contract.md#update-manifest). */
const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

/** The responses with the live manifest: the same bytes for each client, prepared once for each manifest. */
@Injectable()
export class ManifestResponses implements OnModuleInit {
  #prepared?: ReturnType<typeof prepareResponses>;

  constructor(
    private readonly manifests: ManifestService,
    private readonly host: HttpAdapterHost,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    servePrepared(fastify, MANIFEST_PATH, (ifNoneMatch) => this.respond(ifNoneMatch), this.log);
  }

  /** @param ifNoneMatch the header of the request @returns null if no manifest is live */
  respond(ifNoneMatch: string | undefined): PreparedResponse | null {
    const { live } = this.manifests;
    if (!live) return null;
    if (this.#prepared?.live !== live) this.#prepared = prepareResponses(live);
    const { etag, ok, notModified } = this.#prepared;
    return containsEtag(ifNoneMatch, etag) ? notModified : ok;
  }
}

/** Prepares the responses 200 and 304 for a manifest. */
function prepareResponses(live: LiveManifest) {
  const etag = `"${hash('sha256', live.body, 'base64url')}"`;
  const headers = { ...SECURITY_HEADERS, etag, 'cache-control': CACHE_CONTROL };
  const content = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(live.body),
  };
  const ok: PreparedResponse = { status: 200, headers: { ...headers, ...content }, body: live.body };
  const notModified: PreparedResponse = { status: 304, headers, body: '' };
  return { live, etag, ok, notModified };
}
