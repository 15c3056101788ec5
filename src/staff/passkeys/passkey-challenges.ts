import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v4 as uuidv4, validate as isUuid } from 'uuid';
import { Clock } from '../../core/clock.js';

export const CHALLENGE_MINUTES = 5;

/** Random bytes for a passkey to sign, each once, by the browser that asked for them. */
@Injectable()
export class PasskeyChallenges {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** @param staffId who enrols with it; null where somebody signs in @returns its id, for the browser's cookie */
  async make(staffId: string | null): Promise<{ id: string; challenge: Buffer }> {
    const id = uuidv4();
    const challenge = randomBytes(32);
    const now = this.clock.now();
    // Anyone may ask for one: those that ended leave as new ones come, so that the table stays small.
    await this.dataSource.query(
      `delete from passkey_challenge where id in
         (select id from passkey_challenge where expires_at <= $1 limit 100 for update skip locked)`,
      [now],
    );
    await this.dataSource.query(
      'insert into passkey_challenge (id, challenge, staff_id, expires_at) values ($1, $2, $3, $4)',
      [id, challenge, staffId, new Date(now.getTime() + CHALLENGE_MINUTES * 60_000)],
    );
    return { id, challenge };
  }

  /** Spends a challenge, before its answer is looked at: a wrong answer has no second try. Null where there is none. */
  async spend(id: string | undefined, staffId: string | null): Promise<Buffer | null> {
    if (!isUuid(id)) return null;
    const [row] = (await this.dataSource.query(
      `with spent as (
         delete from passkey_challenge where id = $1 and staff_id is not distinct from $2::uuid and expires_at > $3
         returning challenge)
       select challenge from spent`,
      [id, staffId, this.clock.now()],
    )) as { challenge: Buffer }[];
    return row?.challenge ?? null;
  }
}
