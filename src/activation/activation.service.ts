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
import { statusRefusal, expiryRefusal, type LicenseState } from '../licenses/license.rules.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { enqueueMail } from '../mail/mail.service.js';
import { Coverage } from '../manifest/coverage.js';
import { ActivateRequest } from './activation.dto.js';
import { type ActivationAttempt, type SuccessfulAttempt } from './activation-attempt.js';
import { AttemptReads, type FoundAttempt } from './attempt-reads.js';

// Activates a machine under the lock of its license (migrations/0001_schema.sql).
const ACTIVATE_MACHINE = 'select * from activate_machine($1, $2, $3, $4, $5, $6, $7)';

/** A row that the SQL function `activate_machine` returns. If `activation_id` is null, the license is at its machine limit. */
type WrittenAttempt = Omit<ActivationAttempt, keyof LicenseState | 'license_id'> & {
  readonly machines_in_use: number;
};

/** Activates a license on a machine (docs/contract.md#activate). */
@Injectable()
export class ActivationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly attempts: AttemptReads,
    private readonly licenses: LicensesService,
    private readonly keys: LicenseKeys,
    private readonly coverage: Coverage,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /**
   * Activates the machine, or returns its existing activation, so that a client can repeat a request after a lost response.
   * @throws Problem the first refusal that applies, in the order of docs/contract.md#errors; `license_not_found` or
   *   `invalid_request` if no license has this key and e-mail; `unavailable` if the service may use a wrong database, or its clock
   *   may be wrong
   */
  async activate(request: ActivateRequest): Promise<{ activation: SuccessfulAttempt; created: boolean }> {
    const now = this.clock.now();
    // Reads the license of the request, and the active activation of its machine if it has one. No attempt is stored.
    const attempt = await this.attempts.find(request);
    if (!attempt) throw await this.unknownLicenseProblem(request.license_key);
    const refusal =
      statusRefusal(attempt) ??
      expiryRefusal(attempt, now) ??
      (await this.coverage.refusal(request.app_version, attempt.expires_at));
    if (refusal?.code === 'license_expired') await this.licenses.assertTimeIsCertain(now);
    if (refusal) throw refusal;
    if (isSuccessful(attempt)) return { activation: attempt, created: false };
    const activated = await this.insertActivation(attempt, request, now);
    // Starts again if the license or its purchase changed after it was read and before it was locked.
    return activated ?? this.activate(request);
  }

  /** @returns null if the license or its purchase changed since the read @throws Problem `machine_limit_reached` */
  private async insertActivation(
    attempt: FoundAttempt,
    request: ActivateRequest,
    now: Date,
  ): Promise<{ activation: SuccessfulAttempt; created: boolean } | null> {
    const id = uuidv7();
    const { license_id, revision } = attempt;
    const { email, machine_id, hostname_hint, app_version } = request;
    const values = [license_id, revision, id, machine_id, hostname_hint ?? null, app_version, now];
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
      if (written?.activation_id === id) await enqueueMail(manager, 'activation_created', id, now);
      return written;
    });
  }

  // An unknown key and a wrong e-mail give the same problem. If the check symbol is wrong, the response says that one character
  // looks mistyped. This may be untrue of an imported key: it need not have a check symbol, and perhaps only the e-mail is wrong.
  private async unknownLicenseProblem(key: string): Promise<Problem> {
    await this.licenses.assertDatabaseHasLicenses();
    if (hasValidCheckSymbol(key)) return problem('license_not_found');
    return invalidMembers({ license_key: 'has one character that looks mistyped' });
  }

  // `release_url` opens the portal for this license, so that the holder can release a machine and return to the application. The
  // label and version in it let the page name the machine that waits. They are in the fragment, which browsers do not send.
  private machineLimitProblem(
    { machines_allowed, machines_in_use }: WrittenAttempt,
    releaseHint: string,
    { hostname_hint: machine, app_version: version }: ActivateRequest,
  ): Problem {
    const portal_url = `${this.config.publicUrl}/portal/`;
    const release_url = `${portal_url}#${new URLSearchParams({ release: releaseHint, ...(machine && { machine }), version })}`;
    return problem('machine_limit_reached', { machines_allowed, machines_in_use, portal_url, release_url });
  }
}

function isSuccessful(attempt: ActivationAttempt): attempt is SuccessfulAttempt {
  return attempt.activation_id !== null;
}
