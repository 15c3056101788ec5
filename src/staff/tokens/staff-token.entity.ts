import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A bearer token of a script. Columns are described in the migrations. */
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
