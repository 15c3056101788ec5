import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Why an activation ended. An erasure and retention also use `released`. */
export type EndedReason = 'released' | 'refunded';

/** The activation of a license on a machine. The migrations describe the columns. */
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
