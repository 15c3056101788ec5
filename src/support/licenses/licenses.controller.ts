import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  HttpStatus,
  Param,
  Patch,
  Post,
  Query,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { findLicenses } from '../../activation/license-overview.js';
import { ErasureService } from '../../erasure/erasure.service.js';
import { LICENSES_PAGE_SIZE } from '../../fields/licenses-page-size.js';
import { readIfMatch } from '../../http/parsing/if-match.js';
import { problem } from '../../http/problems/problem.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import { LicensesService } from '../../licenses/licenses.service.js';
import { readHolderLicenses } from './holder-licenses.js';
import { HolderLicensesQuery } from './holder-licenses.dto.js';
import { readLicenseDetail } from './license-detail.js';
import {
  toLicenseQuery,
  IssueRequest,
  toLicenseChange,
  LicenseChangeRequest,
  SearchRequest,
} from './licenses.dto.js';
import type { AuthenticatedStaff } from '../../staff/identity/staff-identity.js';
import { AdminOnly, CurrentStaff, StaffGuard } from '../../staff/identity/staff.guard.js';
import { OptionalReasonRequest, ReasonRequest } from '../../audit/reason.dto.js';

/** Licenses, managed by staff (docs/contract.md#staff). Searches are POST requests, so that no URL has personal data. */
@Controller('support/api/licenses')
@UseGuards(StaffGuard)
export class LicensesController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly licenses: LicensesService,
    private readonly erasures: ErasureService,
    private readonly keys: LicenseKeys,
  ) {}

  @Post('search')
  @HttpCode(200)
  async search(@Body() request: SearchRequest) {
    const query = toLicenseQuery(request, this.keys);
    return { licenses: await findLicenses(this.dataSource, query, { limit: LICENSES_PAGE_SIZE }) };
  }

  @Get(':id')
  async read(@Param('id') id: string) {
    return { license: await readLicenseDetail(this.dataSource, this.keys, id) };
  }

  /** The licenses of the holder of this license. The holder is named by a license, so that the URL has no personal data. */
  @Get(':id/holder')
  async readHolder(@Param('id') id: string, @Query() query: HolderLicensesQuery) {
    return readHolderLicenses(this.dataSource, id, query);
  }

  /** A request with the `idempotency-key` of an earlier one gets the same license (docs/decisions/0059). */
  @Post()
  @AdminOnly()
  async issue(
    @Body() request: IssueRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') idempotencyKey?: string,
  ) {
    const id = idempotencyKey ? this.keys.issuedLicenseId(staff.id, idempotencyKey) : uuidv7();
    // A restored backup lacks a license that was issued and erased after the backup. Issuing it again would store its holder again.
    if (await this.erasures.wasErased(id)) throw problem('idempotency_key_reused', { license_id: id });
    const audit = { actor: staff.email, reason: null };
    const { license_id, license_key, created } = await this.licenses.issueOnce(id, request, audit);
    reply.status(created ? HttpStatus.CREATED : HttpStatus.OK);
    const [license] = await findLicenses(this.dataSource, { id: license_id });
    return { license, license_key };
  }

  /** With `if-match: "REVISION"` the change is refused if the license was changed meanwhile. */
  @Patch(':id')
  @AdminOnly()
  async change(
    @Param('id') id: string,
    @Body() request: LicenseChangeRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
    @Headers('if-match') ifMatch?: string,
  ) {
    const audit = { actor: staff.email, reason: request.reason };
    await this.licenses.set(id, toLicenseChange(request), audit, readIfMatch(ifMatch));
    return { license: await readLicenseDetail(this.dataSource, this.keys, id) };
  }

  @Post(':id/send-key')
  @HttpCode(202)
  async sendKey(
    @Param('id') id: string,
    @Body() { reason }: OptionalReasonRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    await this.licenses.sendKey(id, { actor: staff.email, reason: reason ?? null });
  }

  /** Mails the new key to the holder. The response does not contain the key. `if-match` works as for a change. */
  @Post(':id/rekey')
  @AdminOnly()
  @HttpCode(202)
  async rekey(
    @Param('id') id: string,
    @Body() { reason }: ReasonRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
    @Headers('if-match') ifMatch?: string,
  ) {
    await this.licenses.rekey(id, { actor: staff.email, reason }, readIfMatch(ifMatch));
  }
}
