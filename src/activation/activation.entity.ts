import { Column, Entity, PrimaryColumn } from 'typeorm';

export type EndedReason = 'released' | 'refunded';

/** The binding of a license to a machine. Columns are described in the migrations. */
@Entity('activation')
export class Activation {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('uuid')
  license_id!: string;

  @Column('bytea', { nullable: true })
  machine_id!: Buffer | null;

  @Column('text', { nullable: true })
  hostname_hint!: string | null;

  @Column('text')
  app_version!: string;

  @Column('timestamptz')
  activated_at!: Date;

  @Column('timestamptz', { nullable: true })
  ended_at!: Date | null;

  @Column('text', { nullable: true })
  ended_reason!: EndedReason | null;

  @Column('boolean')
  released_by_holder!: boolean;
}
