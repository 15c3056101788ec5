import { expect, test } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { moveInbox } from '../../src/telemetry/inbox.js';

const NOW = new Date('2026-11-20T00:05:00Z');

/** Moves an inbox with due rows, on a connection on which each swap fails. @returns the number of swaps, and the error */
async function moveWithFailingSwap(code: string): Promise<{ swaps: number; error: unknown }> {
  let swaps = 0;
  const query = async (sql: string): Promise<unknown> => {
    if (!sql.includes('rename to')) return [{ oldest: null, is_due: true, is_interrupted: false, name: '' }];
    swaps += 1;
    throw Object.assign(new Error('swap'), { code });
  };
  const error: unknown = await moveInbox({ query } as QueryRunner, NOW, NOW).catch(
    (reason: unknown) => reason,
  );
  return { swaps, error };
}

test('only a swap that does not get its locks is tried again', async () => {
  // The codes of PostgreSQL for insufficient privileges, and for a lock that is not available.
  expect(await moveWithFailingSwap('42501')).toEqual({ swaps: 1, error: new Error('swap') });
  expect(await moveWithFailingSwap('55P03')).toEqual({ swaps: 20, error: new Error('swap') });
});
