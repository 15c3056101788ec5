import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call, activation, Service, type Answer } from './harness.js';

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

/** Sends to both instances in turn, all at once, and counts the answers by status. */
async function race(requests: ((url: string) => Promise<Answer>)[]): Promise<Record<number, number>> {
  const answers = await Promise.all(requests.map((send, i) => send(i % 2 ? two.url : one.url)));
  const tally: Record<number, number> = {};
  for (const { status } of answers) tally[status] = (tally[status] ?? 0) + 1;
  return tally;
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
  expect(await race(fifty((i) => taking(license, `machine ${i}`)))).toEqual({ 201: 3, 409: 47 });
  expect(await active(license)).toHaveLength(3);
});

test.each(ROUNDS)(
  'one machine asks 50 times at once: one seat, and the same for all (round %i)',
  async () => {
    const license = await one.issue();
    const seats = new Set<string>();
    const tally = await race(
      fifty(() => async (url) => {
        const answer = await taking(license, 'studio')(url);
        seats.add(answer.json.activation.id);
        return answer;
      }),
    );
    expect(tally).toEqual({ 201: 1, 200: 49 });
    expect(await active(license)).toEqual([...seats]);
  },
);

test.each(ROUNDS)('releases and activations at once never exceed the limit (round %i)', async () => {
  const license = await one.issue({ machines_allowed: 3 });
  await race(['a', 'b', 'c'].map((machine) => taking(license, machine)));
  const releases = (await active(license)).map(releasing);
  // In the middle of the takers: some come before a seat is free, some after.
  const requests = fifty((i) => taking(license, `machine ${i}`));
  for (const [i, release] of releases.entries()) requests.splice(10 * (i + 1), 0, release);

  const seen = { most: 0, isOver: false };
  const watch = async () => {
    while (!seen.isOver) seen.most = Math.max(seen.most, (await active(license)).length);
  };
  const [tally] = await Promise.all([race(requests).finally(() => (seen.isOver = true)), watch()]);

  const { 200: released = 0, 201: taken = 0, 409: refused = 0 } = tally;
  expect({ released, all: taken + refused }).toEqual({ released: 3, all: 50 });
  expect(seen.most).toBeLessThanOrEqual(3);
  expect(await active(license)).toHaveLength(taken);
  expect(taken).toBeLessThanOrEqual(3);
});
