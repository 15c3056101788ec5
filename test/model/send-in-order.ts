import type { Service } from '../support/harness.js';

const WAITING = `select count(*)::int as waiting from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;
/** How often one is looked for that neither waits nor answers: a retry between two tries does neither. */
const LOOKS = 200;

/**
 * Sends commands while the license's row is held: each once the one before it waits, or was answered without. Then lets
 * go, so that they get the row in this order, whatever each had read before.
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
