import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { poolOf } from '../database/data-source.js';
import { queryPrepared, queryRow } from '../database/sql.js';
import { invalidMembers, problem, type Problem } from '../http/problems/problem.js';
import { hasValidCheckSymbol } from '../keys/license-key-text.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { enqueueActivationMail } from '../licenses/license-mails.js';
import { statusRefusal, expiryRefusal, type LicenseState } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { Coverage } from '../manifest/coverage.js';
import { ActivateRequest } from './activation.dto.js';
import { type ActivationAttempt, type SuccessfulAttempt } from './activation-attempt.js';

// Each query below adds the join of `a`, the active activation of the machine ($3). `revision` changes with each change of the
// license or of its purchase.
const SELECT_ATTEMPT = `
  select l.id as license_id, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state,
         (select count(*)::int from activation where license_id = l.id and ended_at is null) as machines_in_use,
         a.id as activation_id, a.activated_at, a.hostname_hint, concat(l.xmin, ' ', p.xmin) as revision
  from license l
  left join purchase p on p.id = l.purchase_id`;

// Finds the license by the hash of its key ($1) and its e-mail ($2), and the activation of the machine, if it has one.
const FIND_BY_KEY = {
  name: 'find activation',
  text: `${SELECT_ATTEMPT}
  left join activation a on a.license_id = l.id and a.machine_id = $3 and a.ended_at is null
  where l.key_hash = $1 and l.email = $2`,
};

// Finds the license of an active machine that still sends the key and e-mail with which it was activated, although the
// license has another key or e-mail since, or lost its e-mail in a restore (docs/decisions/0028). A former e-mail is
// not stored, so after such a change the query accepts any e-mail. The query starts with the machine, so that for a
// machine without an activation an unknown key and a wrong e-mail take the same time.
const FIND_BY_MACHINE = {
  name: 'find activation by machine',
  text: `${SELECT_ATTEMPT}
  join activation a on a.license_id = l.id and a.machine_id = $3 and a.ended_at is null
  where (l.email is not null or l.address_lost_at is not null)
    and (l.email = $2 or l.email_since >= a.activated_at or l.address_lost_at is not null)
    and (l.key_hash = $1 or exists (select 1 from replaced_key
           where license_id = l.id and key_hash = $1 and replaced_at >= a.activated_at))`,
};

// Activates a machine under the lock of its license (migrations/0001_schema.sql).
const ACTIVATE_MACHINE = 'select * from activate_machine($1, $2, $3, $4, $5, $6, $7)';

/** The license key, e-mail and machine of a request, in canonical form. */
interface ActivationCredentials {
  readonly key: string;
  readonly email: string;
  readonly machineId: Buffer;
}

/** An attempt, with the revision that the license had at the time of the read. */
type FoundAttempt = ActivationAttempt & { readonly revision: string };

/** A row that the SQL function `activate_machine` returns. Without an activation, the license is at its machine limit. */
type WrittenAttempt = Omit<ActivationAttempt, keyof LicenseState | 'license_id'>;

/** Activates a license on a machine (docs/contract.md#activate). */
@Injectable()
export class ActivationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly licenses: LicensesService,
    private readonly keys: LicenseKeys,
    private readonly coverage: Coverage,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /**
   * Activates the machine, or returns its existing activation, so that a client can repeat a request after a lost response.
   * @throws Problem the first refusal that applies, in the order of docs/contract.md#errors
   */
  async activate(request: ActivateRequest): Promise<{ activation: SuccessfulAttempt; created: boolean }> {
    const credentials: ActivationCredentials = {
      key: request.license_key,
      email: request.email,
      machineId: request.machine_id,
    };
    const now = this.clock.now();
    const attempt =
      (await this.findAttempt(FIND_BY_KEY, credentials)) ??
      (await this.findAttempt(FIND_BY_MACHINE, credentials));
    if (!attempt) throw await this.unknownLicenseProblem(credentials);
    const refusal =
      statusRefusal(attempt) ??
      expiryRefusal(attempt, now) ??
      (await this.coverage.refusal(request.app_version, attempt.expires_at));
    if (refusal?.code === 'license_expired') await this.licenses.assertTimeIsCertain(now);
    if (refusal) throw refusal;
    if (isSuccessful(attempt)) return { activation: attempt, created: false };
    const activated = await this.insertActivation(attempt, credentials, request, now);
    // Starts again if the license changed after it was read and before it was locked.
    return activated ?? this.activate(request);
  }

  private async findAttempt(
    query: typeof FIND_BY_KEY,
    { key, email, machineId }: ActivationCredentials,
  ): Promise<FoundAttempt | undefined> {
    const values = [this.keys.hash(key), email, machineId];
    const rows = await queryPrepared<FoundAttempt>(poolOf(this.dataSource), { ...query, values });
    return rows[0];
  }

  /** @returns null if the license or its purchase changed since the read @throws Problem `machine_limit_reached` */
  private async insertActivation(
    attempt: FoundAttempt,
    { email, machineId }: ActivationCredentials,
    request: ActivateRequest,
    now: Date,
  ): Promise<{ activation: SuccessfulAttempt; created: boolean } | null> {
    const id = uuidv7();
    const { license_id, revision } = attempt;
    const { hostname_hint, app_version } = request;
    const values = [license_id, revision, id, machineId, hostname_hint ?? null, app_version, now];
    const written = await (this.config.isNewActivationMailEnabled
      ? this.activateAndMail(values, id, now)
      : this.activateMachine(values));
    if (!written) return null;
    const result = { ...attempt, ...written };
    if (!isSuccessful(result))
      throw this.machineLimitProblem(result, this.keys.releaseHint(license_id, email, now), request);
    return { activation: result, created: result.activation_id === id };
  }

  private async activateMachine(values: unknown[]): Promise<WrittenAttempt | undefined> {
    const query = { name: 'activate machine', text: ACTIVATE_MACHINE, values };
    const rows = await queryPrepared<WrittenAttempt>(poolOf(this.dataSource), query);
    return rows[0];
  }

  /** Activates the machine, and enqueues the mail about it in the same transaction. */
  private activateAndMail(values: unknown[], id: string, now: Date): Promise<WrittenAttempt | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const written = await queryRow<WrittenAttempt>(manager, ACTIVATE_MACHINE, values);
      if (written?.activation_id === id) await enqueueActivationMail(manager, id, now);
      return written;
    });
  }

  // An unknown key and a wrong e-mail give the same problem. A wrong check symbol is reported as a mistyped character. That is a
  // wrong guess only for an imported key, which may have no check symbol, with a wrong e-mail.
  private async unknownLicenseProblem({ key }: ActivationCredentials): Promise<Problem> {
    await this.licenses.assertDatabaseHasLicenses();
    if (hasValidCheckSymbol(key)) return problem('license_not_found');
    return invalidMembers({ license_key: 'has one character that looks mistyped' });
  }

  // `release_url` opens the portal for this license, so that the holder can release a machine and return to the application. The
  // label and version in it let the page name the machine that waits. Browsers do not send a fragment.
  private machineLimitProblem(
    { machines_allowed, machines_in_use }: ActivationAttempt,
    release: string,
    { hostname_hint: machine, app_version: version }: ActivateRequest,
  ): Problem {
    const portal_url = `${this.config.publicUrl}/portal/`;
    const release_url = `${portal_url}#${new URLSearchParams({ release, ...(machine && { machine }), version })}`;
    return problem('machine_limit_reached', { machines_allowed, machines_in_use, portal_url, release_url });
  }
}

function isSuccessful(attempt: ActivationAttempt): attempt is SuccessfulAttempt {
  return attempt.activation_id !== null;
}
