import type { Service } from '../support/harness.js';

const COUNT_WAITING = `select count(*)::int as waiting from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;
/**
 * The number of checks whether a command waits for the lock or has returned. A command that retries does neither for a moment;
 * after this many checks the next command is sent nevertheless, and the order of the two is open.
 */
const MAX_CHECKS = 200;

/**
 * Locks the row of the license, and sends each command when the one before it waits for the lock or has returned. Then it
 * releases the lock, so that the commands usually take effect in this order. The caller must accept any other order too.
 */
export async function sendInOrder<T>(
  { database }: Pick<Service, 'database'>,
  license_id: string,
  sendCommands: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const lockHolder = await database.connect();
  const answers: Promise<T>[] = [];
  let returned = 0;
  try {
    await lockHolder.query('begin');
    await lockHolder.query('select 1 from license where id = $1 for update', [license_id]);
    for (const send of sendCommands) {
      const answer = send().finally(() => (returned += 1));
      // `Promise.all` below reports a failure.
      answer.catch(() => undefined);
      answers.push(answer);
      for (let checks = 0; checks < MAX_CHECKS; checks += 1) {
        const { rows } = await database.query<{ waiting: number }>(COUNT_WAITING);
        if (rows[0]!.waiting + returned >= answers.length) break;
      }
    }
  } finally {
    await lockHolder.query('rollback');
    lockHolder.release();
  }
  return Promise.all(answers);
}
