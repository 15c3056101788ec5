import { Injectable } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock } from '../clock.js';
import { Config } from '../config.js';
import { poolOf } from '../database/data-source.js';
import { invalidMembers, problem, type Problem } from '../http/problem.js';
import { canonicalLicenseKey, checkSymbolHolds, licenseKeyHash } from '../keys/license-key.js';
import { canonicalEmail } from '../licenses/email.js';
import { statusRefusal, expiryRefusal } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { Coverage } from '../manifest/coverage.js';
import { ActivateRequest } from './activation.dto.js';
import { hasFreeSeat, hostnameHint, type Seat, type TakenSeat } from './activation.rules.js';

// One read: the license that has this key and e-mail, how full it is, and this machine's binding to it.
const SEAT = `
  select l.id as license_id, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state,
         (select count(*)::int from activation where license_id = l.id and ended_at is null) as machines_in_use,
         a.id as activation_id, a.activated_at, a.hostname_hint
  from license l
  left join purchase p on p.id = l.purchase_id
  left join activation a on a.license_id = l.id and a.machine_id = $3 and a.ended_at is null
  where l.key_hash = $1 and l.email = $2`;

const LOCK = 'select 1 from license where id = $1 for update';
const INSERT = `
  insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
  values ($1, $2, $3, $4, $5, $6)`;

/** Who asks for a seat: license key, e-mail and machine, in their one form. */
interface Claim {
  readonly key: string;
  readonly email: string;
  readonly machineId: Buffer;
}

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
  async activate(request: ActivateRequest): Promise<{ seat: TakenSeat; created: boolean }> {
    const claim: Claim = {
      key: canonicalLicenseKey(request.license_key)!,
      email: canonicalEmail(request.email)!,
      machineId: Buffer.from(request.machine_id, 'hex'),
    };
    const now = this.clock.now();
    const seat = await findSeat(poolOf(this.dataSource), claim);
    if (!seat) throw await this.unknownLicense(claim);
    const refusal =
      statusRefusal(seat) ??
      expiryRefusal(seat, now) ??
      (await this.coverage.refusal(request.app_version, seat.expires_at));
    if (refusal) throw refusal;
    if (isTaken(seat)) return { seat, created: false };
    const taken = await this.dataSource.transaction(async ({ queryRunner }) => {
      // The connection itself: only there is a statement named, and then planned once instead of each time.
      const connection = (await queryRunner!.connect()) as pg.PoolClient;
      return this.takeSeat(connection, seat, claim, request, now);
    });
    return taken ?? this.activate(request);
  }

  // The lock on the license makes takers wait for each other; what was read before it is read again behind it. Null where
  // its expiry moved meanwhile: which versions it covers is asked of the manifests, and not while others wait.
  private async takeSeat(
    connection: pg.PoolClient,
    { license_id, expires_at }: Seat,
    claim: Claim,
    request: ActivateRequest,
    now: Date,
  ): Promise<{ seat: TakenSeat; created: boolean } | null> {
    await connection.query({ name: 'lock license', text: LOCK, values: [license_id] });
    const seat = await findSeat(connection, claim);
    if (!seat) throw problem('license_not_found');
    if (seat.expires_at?.getTime() !== expires_at?.getTime()) return null;
    const refusal = statusRefusal(seat) ?? expiryRefusal(seat, now);
    if (refusal) throw refusal;
    if (isTaken(seat)) return { seat, created: false };
    if (!hasFreeSeat(seat)) throw this.limitReached(seat);
    const binding = {
      activation_id: uuidv7(),
      activated_at: now,
      hostname_hint: hostnameHint(request.hostname_hint),
    };
    const { activation_id, hostname_hint } = binding;
    const values = [activation_id, license_id, claim.machineId, hostname_hint, request.app_version, now];
    await connection.query({ name: 'insert activation', text: INSERT, values });
    return { seat: { ...seat, ...binding, machines_in_use: seat.machines_in_use + 1 }, created: true };
  }

  // Unknown key and wrong e-mail are one answer; a wrong check symbol is a typing error in either case.
  private async unknownLicense({ key }: Claim): Promise<Problem> {
    await this.licenses.refuseWrongDatabase();
    if (checkSymbolHolds(key)) return problem('license_not_found');
    return invalidMembers({ license_key: 'holds a typing error: its check symbol does not fit' });
  }

  private limitReached({ machines_allowed, machines_in_use }: Seat): Problem {
    const portal_url = `${this.config.publicUrl}/portal/`;
    return problem('machine_limit_reached', { machines_allowed, machines_in_use, portal_url });
  }
}

async function findSeat(
  connection: pg.Pool | pg.PoolClient,
  { key, email, machineId }: Claim,
): Promise<Seat | undefined> {
  const values = [licenseKeyHash(key), email, machineId];
  const { rows } = await connection.query<Seat>({ name: 'find seat', text: SEAT, values });
  return rows[0];
}

function isTaken(seat: Seat): seat is TakenSeat {
  return seat.activation_id !== null;
}
