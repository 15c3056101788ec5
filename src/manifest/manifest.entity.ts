import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ManifestSignature } from '../keys/manifests/signed-manifest.js';

/** A published manifest. Rows are inserted and never changed. */
@Entity('manifest')
export class Manifest {
  /** `pg` reads a bigint as text. */
  @PrimaryColumn('bigint')
  sequence!: string;

  @Column('text')
  signed!: string;

  @Column('jsonb')
  signatures!: ManifestSignature[];

  @Column('timestamptz')
  published_at!: Date;
}
