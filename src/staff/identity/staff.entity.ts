import { Column, Entity, PrimaryColumn } from 'typeorm';

export const ROLES = ['support', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A staff member of the vendor. The migrations describe the columns. */
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
