import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An access token of a script. The migrations describe the columns. */
@Entity('staff_token')
export class StaffToken {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('uuid')
  staff_id!: string;

  @Column('bytea')
  token_hash!: Buffer;

  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  expires_at!: Date;
}
