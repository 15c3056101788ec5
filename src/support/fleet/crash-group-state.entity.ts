import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The state that staff gave a crash group. An open group has no row. */
@Entity('crash_group_state')
export class StoredCrashGroupState {
  @PrimaryColumn('text')
  crash_sig!: string;

  @Column('text')
  state!: 'resolved' | 'muted';

  /** The version that resolves the crash; null for a muted group. */
  @Column('text', { nullable: true })
  resolved_in!: string | null;

  /** The staff member; null once that person is removed. */
  @Column('uuid', { nullable: true })
  changed_by!: string | null;

  @Column('timestamptz')
  changed_at!: Date;

  /** The last week in which the group crashed. The row is deleted with it. */
  @Column('date')
  last_week_end!: string;
}
