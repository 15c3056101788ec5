import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { recordAudit, type Act } from '../audit/audit.js';
import { Clock, DAY_MS, rfc3339 } from '../clock.js';
import { problem } from '../http/problem.js';
import { Staff, type Role } from './staff.entity.js';
import { StaffToken } from './staff-token.entity.js';

const TOKEN_DAYS = 90;
/** Tells a reader, and a secret scanner, what it has before it. */
const TOKEN_PREFIX = 'mst_';

/** A listed token: everything but itself. */
export interface TokenLine {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string;
  readonly expires_at: string;
}

/** People of the vendor and the tokens of their scripts (contract, section 4). */
@Injectable()
export class StaffService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Adds a person, or gives the one who is there another role. */
  async add(email: string, role: Role, act: Act): Promise<{ staff_id: string }> {
    const now = this.clock.now();
    return this.dataSource.transaction(async (manager) => {
      const [row] = (await manager.query(
        `insert into staff (id, email, role, created_at) values ($1, $2, $3, $4)
         on conflict (email) do update set role = excluded.role returning id`,
        [uuidv7(), email, role, now],
      )) as { id: string }[];
      const change = { staff_id: row!.id, role };
      await recordAudit(manager, act, { action: 'staff.add', change, at: now });
      return { staff_id: row!.id };
    });
  }

  /** Makes a bearer token of its owner's role, good for 90 days; only its hash is kept. Throws `not_found`. */
  async makeToken(email: string, act: Act): Promise<{ id: string; token: string }> {
    const owner = await this.dataSource.manager.findOneBy(Staff, { email });
    if (!owner) throw problem('not_found');
    const token = TOKEN_PREFIX + randomBytes(32).toString('base64url');
    const created_at = this.clock.now();
    const expires_at = new Date(created_at.getTime() + TOKEN_DAYS * DAY_MS);
    const id = uuidv7();
    await this.dataSource.transaction(async (manager) => {
      await manager.insert(StaffToken, {
        id,
        staff_id: owner.id,
        token_hash: tokenHash(token),
        created_at,
        expires_at,
      });
      const change = { staff_id: owner.id, token_id: id };
      await recordAudit(manager, act, { action: 'staff.token', change, at: created_at });
    });
    return { id, token };
  }

  async tokens(): Promise<TokenLine[]> {
    const rows = (await this.dataSource.query(
      `select t.id, s.email, s.role, t.created_at, t.expires_at
       from staff_token t join staff s on s.id = t.staff_id where t.expires_at > $1 order by t.created_at`,
      [this.clock.now()],
    )) as (Pick<Staff, 'email' | 'role'> & StaffToken)[];
    return rows.map(({ id, email, role, created_at, expires_at }) => ({
      id,
      email,
      role,
      created_at: rfc3339(created_at),
      expires_at: rfc3339(expires_at),
    }));
  }

  /** Throws `not_found`. */
  async revokeToken(id: string, act: Act): Promise<void> {
    if (!isUuid(id)) throw problem('not_found');
    await this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.delete(StaffToken, { id });
      if (!affected) throw problem('not_found');
      await recordAudit(manager, act, {
        action: 'staff.revoke_token',
        change: { token_id: id },
        at: this.clock.now(),
      });
    });
  }

  /** Who a token stands for, with the role its owner has now; null where it is unknown or over. */
  async byToken(token: string): Promise<Pick<Staff, 'email' | 'role'> | null> {
    const [row] = (await this.dataSource.query(
      `select s.email, s.role from staff_token t join staff s on s.id = t.staff_id
       where t.token_hash = $1 and t.expires_at > $2`,
      [tokenHash(token), this.clock.now()],
    )) as Pick<Staff, 'email' | 'role'>[];
    return row ?? null;
  }
}

function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
