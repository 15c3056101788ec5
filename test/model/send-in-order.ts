import type { Service } from '../support/harness.js';

const WAITING = `select count(*)::int as waiting from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;
/** How often a command is checked that neither waits nor has returned: a retry between two attempts does neither. */
const LOOKS = 200;

/**
 * Sends commands while the row of the license is locked: each when the one before it waits for the lock or has returned. Then
 * releases the lock, so that the commands get it in this order.
 */
export async function inLine<T>(
  { database }: Pick<Service, 'database'>,
  license_id: string,
  sending: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const holder = await database.connect();
  const answers: Promise<T>[] = [];
  let answered = 0;
  try {
    await holder.query('begin');
    await holder.query('select 1 from license where id = $1 for update', [license_id]);
    for (const send of sending) {
      const answer = send().finally(() => (answered += 1));
      // A failure is reported below.
      answer.catch(() => undefined);
      answers.push(answer);
      for (let look = 0; look < LOOKS; look += 1) {
        const { rows } = await database.query<{ waiting: number }>(WAITING);
        if (rows[0]!.waiting + answered >= answers.length) break;
      }
    }
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  return Promise.all(answers);
}
