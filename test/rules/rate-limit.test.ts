import { expect, jest, test } from '@jest/globals';
import { RateLimit } from '../../src/http/rate-limit.js';

const codesOf = async (limit: RateLimit, ...who: string[]) => {
  const codes: string[] = [];
  for (const each of who)
    codes.push(
      await limit.count(each).then(
        () => 'counted',
        (refused: { code: string }) => refused.code,
      ),
    );
  return codes;
};

test('refuses the next one after so many of one, and of nobody else', async () => {
  const limit = new RateLimit(2, 60);
  expect(await codesOf(limit, 'ada', 'ada', 'ada', 'grace')).toEqual([
    'counted',
    'counted',
    'too_many_requests',
    'counted',
  ]);
});

test('says for how long', async () => {
  const limit = new RateLimit(1, 60);
  await limit.count('ada');
  await expect(limit.count('ada')).rejects.toMatchObject({ headers: { 'retry-after': '60' } });
});

test('never for longer than it counts, also where the clock was set back', async () => {
  const limit = new RateLimit(1, 60);
  await limit.count('ada');
  const aYearAgo = Date.now() - 365 * 86_400_000;
  const clock = jest.spyOn(Date, 'now').mockReturnValue(aYearAgo);
  try {
    await expect(limit.count('ada')).rejects.toMatchObject({ headers: { 'retry-after': '60' } });
  } finally {
    clock.mockRestore();
  }
});

test('remembers so many and no more: a flood of others makes it forget the oldest, and not grow', async () => {
  const limit = new RateLimit(1, 60, 3);
  expect(await codesOf(limit, 'ada', 'b', 'c', 'ada')).toEqual([
    'counted',
    'counted',
    'counted',
    'too_many_requests',
  ]);
  expect(await codesOf(limit, 'd', 'ada', 'c')).toEqual(['counted', 'counted', 'too_many_requests']);
});
