import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ManifestSignature } from '../keys/manifests/signed-manifest.js';

/** A published manifest: a row is appended and never changed. */
@Entity('manifest')
export class Manifest {
  /** A bigint: `pg` reads it as text. */
  @PrimaryColumn('bigint')
  sequence!: string;

  @Column('text')
  signed!: string;

  @Column('jsonb')
  signatures!: ManifestSignature[];

  @Column('timestamptz')
  published_at!: Date;
}
