import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { Clock } from '../../core/clock.js';
import { execute, queryRow } from '../../database/sql.js';

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
    await execute(
      this.dataSource,
      'insert into passkey_challenge (id, challenge, staff_id, expires_at) values ($1, $2, $3, $4)',
      [id, challenge, staffId, new Date(now.getTime() + CHALLENGE_LIFETIME_MINUTES * 60_000)],
    );
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
