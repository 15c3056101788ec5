import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { Clock } from '../../core/clock.js';
import { execute, queryRow } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';

export const CHALLENGE_LIFETIME_MINUTES = 5;

/** WebAuthn challenges, each for one use in the browser that requested it. */
@Injectable()
export class PasskeyChallenges {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a challenge.
   * @param staffId of the staff member who registers a passkey; null for a sign-in
   * @returns the challenge, and its id for the cookie of the browser
   * @throws Problem `sign_in_required` if the staff member was removed meanwhile
   */
  async create(staffId: string | null): Promise<{ id: string; challenge: Buffer }> {
    const id = randomUUID();
    const challenge = randomBytes(32);
    const now = this.clock.now();
    // Any client can request challenges. Each request deletes expired ones, so that the table stays small.
    await execute(
      this.dataSource,
      `delete from passkey_challenge where id in
         (select id from passkey_challenge where expires_at <= $1 limit 100 for update skip locked)`,
      [now],
    );
    // The lock makes this wait for a concurrent removal of the person, after which an insert would violate the foreign key.
    const created = await queryRow<unknown>(
      this.dataSource,
      `insert into passkey_challenge (id, challenge, staff_id, expires_at)
       select $1, $2, $3, $4 where $3::uuid is null or exists (select 1 from staff where id = $3 for key share)
       returning id`,
      [id, challenge, staffId, new Date(now.getTime() + CHALLENGE_LIFETIME_MINUTES * 60_000)],
    );
    if (!created) throw problem('sign_in_required', {}, { 'www-authenticate': 'Bearer' });
    return { id, challenge };
  }

  /**
   * Deletes a challenge before its answer is verified, so that each challenge has one try.
   * @param staffId as given to `create`
   * @returns the challenge; null if it does not exist, has expired or was created for another `staffId`
   */
  async consume(id: string | undefined, staffId: string | null): Promise<Buffer | null> {
    if (!isUuid(id)) return null;
    const row = await queryRow<{ challenge: Buffer }>(
      this.dataSource,
      `delete from passkey_challenge where id = $1 and staff_id is not distinct from $2::uuid and expires_at > $3
       returning challenge`,
      [id, staffId, this.clock.now()],
    );
    return row?.challenge ?? null;
  }
}
