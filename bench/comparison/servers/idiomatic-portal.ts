import { hash } from 'node:crypto';
import { Controller, Get, Headers } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, JsonContains, MoreThan, Repository } from 'typeorm';
import { rfc3339, rfc3339OrNull } from '../../../src/core/clock.js';
import { problem } from '../../../src/http/problems/problem.js';
import { licenseStatus } from '../../../src/licenses/license.rules.js';
import { Activation, AuditEvent, ErasureRequest, ReleaseRequest, Session } from './entities.ts';

@Controller('portal/api/session')
export class LicensesController {
  constructor(
    @InjectRepository(Session) private readonly sessions: Repository<Session>,
    @InjectRepository(Activation) private readonly activations: Repository<Activation>,
    @InjectRepository(ErasureRequest) private readonly erasures: Repository<ErasureRequest>,
    @InjectRepository(ReleaseRequest) private readonly requests: Repository<ReleaseRequest>,
    @InjectRepository(AuditEvent) private readonly events: Repository<AuditEvent>,
  ) {}

  @Get()
  async list(@Headers('cookie') cookie: string | undefined) {
    const now = new Date();
    const { license } = await this.session(cookie, now);
    const activations = await this.activations.find({
      where: { license: { id: license.id } },
      order: { ended_at: { direction: 'ASC', nulls: 'FIRST' }, activated_at: 'DESC', id: 'DESC' },
    });
    const erasure = await this.erasures.findOneBy({ email: license.email });
    const ended_at = MoreThan(new Date(now.getTime() - 365 * 86_400_000));
    // The service counts the self-releases too. The result is not used, because the bench allows none.
    await this.activations.countBy({ license: { id: license.id }, released_by_holder: true, ended_at });
    const requests = await this.requests.find({
      where: { activation: { license: { id: license.id }, ended_at: IsNull() }, decided_at: IsNull() },
      relations: { activation: true },
    });
    const requestTimes = new Map(requests.map(({ activation, asked_at }) => [activation.id, asked_at]));
    const declines = await this.readDeclines(license.id);
    const { id, key_hint, email, expires_at, on_expiry, machines_allowed, staff_status, purchase } = license;
    return {
      signed_in_by: 'key',
      email,
      erasure: erasure && { ...erasure, email: undefined, runs_at: rfc3339(erasure.runs_at) },
      purchases_kept_until: null,
      licenses: [
        {
          id,
          key_hint,
          status: licenseStatus({ staff_status, purchase_state: purchase?.state ?? null }),
          expires_at: rfc3339OrNull(expires_at),
          on_expiry,
          machines_allowed,
          machines_in_use: activations.filter(({ ended_at }) => ended_at === null).length,
          // The service allows no self-release by default, and the bench keeps that.
          self_releases_left: 0,
          is_key_mailable: true,
          activations: activations.map((activation) => ({
            ...activationView(activation, requestTimes.get(activation.id) ?? null),
            release_declined: declines.get(activation.id) ?? null,
          })),
        },
      ],
    };
  }

  private async readDeclines(licenseId: string) {
    const declined = await this.requests.find({
      where: { activation: { license: { id: licenseId }, ended_at: IsNull() }, decision: 'decline' },
      relations: { activation: true },
      order: { decided_at: 'ASC' },
    });
    const declines = new Map<string, { declined_at: string; reason: string | null }>();
    for (const { id, activation, decided_at } of declined) {
      const event = await this.events.findOneBy({
        license_id: licenseId,
        action: 'release_request.decide',
        change: JsonContains({ release_request_id: id }),
      });
      declines.set(activation.id, { declined_at: rfc3339(decided_at!), reason: event?.reason ?? null });
    }
    return declines;
  }

  private async session(cookie: string | undefined, now: Date): Promise<Session> {
    const token = /(?:^|; )mooring_holder=([^;]+)/.exec(cookie ?? '')?.[1] ?? '';
    const session = await this.sessions.findOne({
      where: { token_hash: hash('sha256', token, 'buffer'), expires_at: MoreThan(now) },
      relations: { license: { purchase: true } },
    });
    if (!session) throw problem('sign_in_required');
    // As in the service, a session ends after 30 minutes without use, and after 12 hours; it is extended at most once a minute.
    const newExpiry = Math.min(now.getTime() + 1_800_000, session.created_at.getTime() + 43_200_000);
    if (newExpiry - session.expires_at.getTime() >= 60_000) {
      session.expires_at = new Date(newExpiry);
      await this.sessions.save(session);
    }
    return session;
  }
}

function activationView(activation: Activation, requestedAt: Date | null) {
  const { id, hostname_hint, app_version, activated_at, ended_at, ended_reason } = activation;
  return {
    id,
    hostname_hint,
    app_version,
    activated_at: rfc3339(activated_at),
    state: ended_reason ?? 'active',
    ended_at: rfc3339OrNull(ended_at),
    ended_reason,
    release_requested_at: rfc3339OrNull(requestedAt),
  };
}
