import { Column, Entity, PrimaryColumn } from 'typeorm';

export const ROLES = ['support', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A person of the vendor. Columns are described in the migrations. */
@Entity('staff')
export class Staff {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  email!: string;

  @Column('text')
  role!: Role;

  @Column('timestamptz')
  created_at!: Date;
}
