import { Controller, Get, HttpCode, Post, Query, Req, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { Clock } from '../../core/clock.js';
import { problem } from '../../http/problems/problem.js';
import { ManifestError } from '../../keys/manifests/signed-manifest.js';
import { PublishError } from '../../manifest/manifest.rules.js';
import { ManifestService } from '../../manifest/manifest.service.js';
import type { AuthenticatedStaff } from '../../staff/identity/staff-identity.js';
import { AdminOnly, CurrentStaff, StaffGuard } from '../../staff/identity/staff.guard.js';
import { readPublishedManifests } from './manifest-history.js';
import { PublishQuery } from './manifests.dto.js';

/** A manifest may be as large as a client accepts (docs/clients.md). */
const MANIFEST_BODY = { bodyLimit: 256 * 1024 };

/** The published manifests. The publisher signs them elsewhere: the service has no key to sign with. */
@Controller('support/api/manifests')
@UseGuards(StaffGuard)
export class ManifestsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly manifests: ManifestService,
  ) {}

  @Get()
  async list() {
    return readPublishedManifests(this.dataSource, this.clock.now());
  }

  /** The body is the manifest itself, as `mooring manifest sign` writes it, so no DTO picks members from it. */
  @Post()
  @AdminOnly()
  @HttpCode(200)
  @RouteConfig(MANIFEST_BODY)
  async publish(
    @Req() { body }: FastifyRequest,
    @Query() { withdraw, dry_run }: PublishQuery,
    @CurrentStaff() { email }: AuthenticatedStaff,
  ) {
    const isWithdrawal = withdraw === 'true';
    await this.manifests.refresh();
    // The manifest before the publication. If a manifest other than the one in this request becomes live after this line, the
    // publication is refused, because the signed `previous` is not the digest of that manifest.
    const live = this.manifests.live?.content ?? null;
    const work =
      dry_run === 'true'
        ? this.manifests.checkPublishable(body, isWithdrawal)
        : this.manifests.publish(body, { actor: email, reason: null }, isWithdrawal);
    return { live, next: await work.catch(toProblem) };
  }
}

/** Turns the refusal of a manifest into a problem with the same sentence. */
function toProblem(error: unknown): never {
  const isRefusal = error instanceof ManifestError || error instanceof PublishError;
  throw isRefusal ? problem('manifest_refused', { reason: error.message }) : error;
}
