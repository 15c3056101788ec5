import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { poolOf } from '../database/data-source.js';
import { invalidMembers, problem, type Problem } from '../http/problems/problem.js';
import { canonicalLicenseKey, checkSymbolHolds, licenseKeyHash } from '../keys/license-key.js';
import { canonicalEmail } from '../licenses/email.js';
import { statusRefusal, expiryRefusal, type LicenseFacts } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { Coverage } from '../manifest/coverage.js';
import { ActivateRequest } from './activation.dto.js';
import { hostnameHint, type ActivationAttempt, type SuccessfulAttempt } from './activation-attempt.js';

// Its revision changes with every change of the license or of its purchase.
const SEAT = `
  select l.id as license_id, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state,
         (select count(*)::int from activation where license_id = l.id and ended_at is null) as machines_in_use,
         a.id as activation_id, a.activated_at, a.hostname_hint, concat(l.xmin, ' ', p.xmin) as revision
  from license l
  left join purchase p on p.id = l.purchase_id`;

// One read: the license that has this key and e-mail, how full it is, and this machine's binding to it.
const FIND = {
  name: 'find seat',
  text: `${SEAT}
  left join activation a on a.license_id = l.id and a.machine_id = $3 and a.ended_at is null
  where l.key_hash = $1 and l.email = $2`,
};

// The same for a machine that holds an active binding, made before the license's key or address was replaced: it has
// stored those of that day (docs/decisions/0028). It begins with the machine, so that for a machine without a binding an
// unknown key and a wrong e-mail cost the same.
const FIND_BY_MACHINE = {
  name: 'find seat by machine',
  text: `${SEAT}
  join activation a on a.license_id = l.id and a.machine_id = $3 and a.ended_at is null
  where (l.email is not null or l.address_lost_at is not null)
    and (l.email = $2 or l.email_since >= a.activated_at or l.address_lost_at is not null)
    and (l.key_hash = $1 or exists (select 1 from replaced_key
           where license_id = l.id and key_hash = $1 and replaced_at >= a.activated_at))`,
};

// Locks the license, looks for the same machine, counts, inserts (migrations/0012).
const TAKE = 'select * from take_seat($1, $2, $3, $4, $5, $6, $7)';

/** Who asks for a seat: license key, e-mail and machine, in their one form. */
interface Claim {
  readonly key: string;
  readonly email: string;
  readonly machineId: Buffer;
}

/** A seat as it was judged. */
type FoundSeat = ActivationAttempt & { readonly revision: string };

/** Binds a license to a machine (contract, activate). */
@Injectable()
export class ActivationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly licenses: LicensesService,
    private readonly coverage: Coverage,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /**
   * Gives the machine its seat: a new one, or the one it has (a lost answer costs the user nothing).
   * @throws Problem, the first that applies in the contract's order
   */
  async activate(request: ActivateRequest): Promise<{ seat: SuccessfulAttempt; created: boolean }> {
    const claim: Claim = {
      key: canonicalLicenseKey(request.license_key)!,
      email: canonicalEmail(request.email)!,
      machineId: Buffer.from(request.machine_id, 'hex'),
    };
    const now = this.clock.now();
    const seat = (await this.findSeat(FIND, claim)) ?? (await this.findSeat(FIND_BY_MACHINE, claim));
    if (!seat) throw await this.unknownLicense(claim);
    const refusal =
      statusRefusal(seat) ??
      expiryRefusal(seat, now) ??
      (await this.coverage.refusal(request.app_version, seat.expires_at));
    if (refusal?.code === 'license_expired') await this.licenses.refuseWrongTime();
    if (refusal) throw refusal;
    if (isTaken(seat)) return { seat, created: false };
    const taken = await this.takeSeat(seat, claim, request, now);
    // The license has changed between the judgement and the lock.
    return taken ?? this.activate(request);
  }

  private async findSeat(
    query: typeof FIND,
    { key, email, machineId }: Claim,
  ): Promise<FoundSeat | undefined> {
    const values = [licenseKeyHash(key), email, machineId];
    const { rows } = await poolOf(this.dataSource).query<FoundSeat>({ ...query, values });
    return rows[0];
  }

  private async takeSeat(
    seat: FoundSeat,
    { machineId }: Claim,
    { hostname_hint, app_version }: ActivateRequest,
    now: Date,
  ): Promise<{ seat: SuccessfulAttempt; created: boolean } | null> {
    const id = uuidv7();
    const { license_id, revision } = seat;
    const values = [license_id, revision, id, machineId, hostnameHint(hostname_hint), app_version, now];
    const query = { name: 'take seat', text: TAKE, values };
    const { rows } = await poolOf(this.dataSource).query<
      Omit<ActivationAttempt, keyof LicenseFacts | 'license_id'>
    >(query);
    if (!rows[0]) return null;
    const given = { ...seat, ...rows[0] };
    if (!isTaken(given)) throw this.limitReached(given);
    return { seat: given, created: given.activation_id === id };
  }

  // Unknown key and wrong e-mail are one answer; a wrong check symbol is a typing error in either case.
  private async unknownLicense({ key }: Claim): Promise<Problem> {
    await this.licenses.refuseWrongDatabase();
    if (checkSymbolHolds(key)) return problem('license_not_found');
    return invalidMembers({ license_key: 'holds a typing error: its check symbol does not fit' });
  }

  private limitReached({ machines_allowed, machines_in_use }: ActivationAttempt): Problem {
    const portal_url = `${this.config.publicUrl}/portal/`;
    return problem('machine_limit_reached', { machines_allowed, machines_in_use, portal_url });
  }
}

function isTaken(seat: ActivationAttempt): seat is SuccessfulAttempt {
  return seat.activation_id !== null;
}
