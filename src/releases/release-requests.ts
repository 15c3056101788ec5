import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock } from '../core/clock.js';
import { queryRow } from '../database/sql.js';
import { timeUnderCurrentHolder } from '../licenses/former-holder.js';
import type { License } from '../licenses/license.entity.js';
import { enqueueMail } from '../mail/mail.service.js';

export const DECISIONS = ['release', 'decline'] as const;
export type Decision = (typeof DECISIONS)[number];

/** Requests of holders that staff release a machine. */
@Injectable()
export class ReleaseRequests {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a request to release an activation, and mails a confirmation to the holder. If an open request exists, if the
   * activation has ended or if the license has another address, nothing changes.
   * @param email the address that the license must have; null accepts each address
   * @param language of the holder's page, for the confirmation and for the mail about the decision
   */
  async create(
    activationId: string,
    reason: string | null,
    email: string | null = null,
    language?: string,
  ): Promise<void> {
    const id = uuidv7();
    await this.dataSource.transaction(async (manager) => {
      // The license is locked before its activation, as for each release: the opposite order could deadlock.
      const license = await queryRow<Pick<License, 'email_since'>>(
        manager,
        `select l.email_since from license l join activation a on a.license_id = l.id where a.id = $1 for share of l`,
        [activationId],
      );
      if (!license) return;
      const at = timeUnderCurrentHolder(license, this.clock.now());
      const created = await queryRow<{ id: string }>(
        manager,
        `insert into release_request (id, activation_id, reason, asked_at, language)
         select $1, a.id, $3, $4, $6 from activation a join license l on l.id = a.license_id
         where a.id = $2 and a.ended_at is null and l.email = coalesce($5, l.email) for share of a
         on conflict (activation_id) where decided_at is null do nothing returning id`,
        [id, activationId, reason, at, email, language],
      );
      if (created) await enqueueMail(manager, 'release_requested', id, at, { language });
    });
  }
}

// A common table expression reads the row as it was before the update.
const DECIDE_OPEN_REQUEST = `
  with open as (select id, language from release_request where activation_id = $1 and decided_at is null)
  update release_request r set decision = $2, decided_at = $3, language = null
  from open where r.id = open.id returning open.language`;

/**
 * Stores the decision about the open request to release an activation, if there is one, and removes the language of the request.
 * @returns that language, for the mail about the decision
 */
export async function decideOpenRequest(
  manager: EntityManager,
  activationId: string,
  decision: Decision,
  at: Date,
): Promise<string | undefined> {
  const values = [activationId, decision, at];
  const request = await queryRow<{ language: string | null }>(manager, DECIDE_OPEN_REQUEST, values);
  return request?.language ?? undefined;
}
