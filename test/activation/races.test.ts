import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { activation, answered, call, Service, type Answer } from '../support/harness.js';

const ROUNDS = Array.from({ length: 20 }, (_, round) => round + 1);
/** Two instances on one database, as behind a balancer. */
let one: Service;
let two: Service;
let authorization: string;
beforeAll(async () => {
  one = await Service.start();
  two = await Service.start({ databaseUrl: one.databaseUrl, dataDir: one.dataDir });
  authorization = `Bearer ${await one.staffToken()}`;
});
afterAll(async () => {
  await two.close();
  await one.close();
});

type License = Awaited<ReturnType<Service['issue']>>;

/**
 * Sends to both instances in turn, all at once, and counts the verdicts. On a computer that stalls for a second
 * each instance keeps its 2 seconds and answers 503; a client tries again then, and so does this one.
 */
async function race(requests: ((url: string) => Promise<Answer>)[]) {
  const counts = { made: 0, ok: 0, refused: 0 };
  const verdict = { 201: 'made', 200: 'ok', 409: 'refused' } as const;
  const send = async (request: (url: string) => Promise<Answer>, i: number): Promise<void> => {
    const { status, text } = await answered(() => request(i % 2 ? two.url : one.url));
    if (!(status in verdict)) throw new Error(text);
    counts[verdict[status as keyof typeof verdict]] += 1;
  };
  await Promise.all(requests.map(send));
  return counts;
}

const taking = (license: License, machine: string) => (url: string) =>
  call(url, 'POST', '/v1/activate', activation(license, machine));

const releasing = (id: string) => (url: string) =>
  call(url, 'POST', `/support/api/activations/${id}/release`, { reason: 'a race' }, { authorization });

const fifty = <T>(make: (i: number) => T) => Array.from({ length: 50 }, (_, i) => make(i));

async function active({ license_id }: License): Promise<string[]> {
  const rows = await one.sql<{ id: string }>(
    'select id from activation where license_id = $1 and ended_at is null',
    [license_id],
  );
  return rows.map(({ id }) => id);
}

test.each(ROUNDS)('50 machines ask for 3 seats at once: 3 get one, 47 are refused (round %i)', async () => {
  const license = await one.issue({ machines_allowed: 3 });
  const { made, ok, refused } = await race(fifty((i) => taking(license, `machine ${i}`)));
  // A seat whose answer was lost is answered with 200 the second time.
  expect({ taken: made + ok, refused }).toEqual({ taken: 3, refused: 47 });
  expect(await active(license)).toHaveLength(3);
});

test.each(ROUNDS)(
  'one machine asks 50 times at once: one seat, and the same for all (round %i)',
  async () => {
    const license = await one.issue();
    const seats = new Set<string>();
    const counts = await race(
      fifty(() => async (url) => {
        const answer = await taking(license, 'studio')(url);
        if (answer.status !== 503) seats.add(answer.json.activation.id);
        return answer;
      }),
    );
    expect(counts.made).toBeLessThanOrEqual(1);
    expect(counts.made + counts.ok).toBe(50);
    expect(await active(license)).toEqual([...seats]);
  },
);

test.each(ROUNDS)('releases and activations at once never exceed the limit (round %i)', async () => {
  const license = await one.issue({ machines_allowed: 3 });
  await race(['a', 'b', 'c'].map((machine) => taking(license, machine)));
  const releases = (await active(license)).map(releasing);
  // In the middle of the takers: some come before a seat is free, some after.
  const requests = fifty((i) => taking(license, `machine ${i}`));
  let released = 0;
  const counted = (release: (url: string) => Promise<Answer>) => async (url: string) => {
    const answer = await release(url);
    if (answer.status === 200) released += 1;
    return answer;
  };
  for (const [i, release] of releases.entries()) requests.splice(10 * (i + 1), 0, counted(release));

  const seen = { most: 0, isOver: false };
  const watch = async () => {
    while (!seen.isOver) seen.most = Math.max(seen.most, (await active(license)).length);
  };
  const [counts] = await Promise.all([race(requests).finally(() => (seen.isOver = true)), watch()]);

  const taken = counts.made + counts.ok - released;
  expect({ released, all: taken + counts.refused }).toEqual({ released: 3, all: 50 });
  expect(seen.most).toBeLessThanOrEqual(3);
  expect(await active(license)).toHaveLength(taken);
  expect(taken).toBeLessThanOrEqual(3);
});
