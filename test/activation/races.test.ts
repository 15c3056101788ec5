import { expect, test } from '@jest/globals';
import {
  activation,
  retryWhileUnavailable,
  call,
  Service,
  type Answer,
  type IssuedLicense,
} from '../support/harness.js';

const ROUNDS = Array.from({ length: 20 }, (_, round) => round + 1);
/** Two instances with one database, as behind a load balancer. */
const one = await Service.start();
const two = await Service.beside(one);
const authorization = `Bearer ${await one.staffToken()}`;

/**
 * Sends all requests concurrently, alternating between the instances, and counts the outcomes. A request is
 * repeated after a 503, which an overloaded instance may return: clients do the same.
 */
async function race(requests: ((url: string) => Promise<Answer>)[]) {
  const counts = { created: 0, existing: 0, refused: 0 };
  const outcomes = { 201: 'created', 200: 'existing', 409: 'refused' } as const;
  const send = async (request: (url: string) => Promise<Answer>, i: number): Promise<void> => {
    const { status, text } = await retryWhileUnavailable(() => request(i % 2 ? two.url : one.url));
    if (!(status in outcomes)) throw new Error(text);
    counts[outcomes[status as keyof typeof outcomes]] += 1;
  };
  await Promise.all(requests.map(send));
  return counts;
}

const activating = (license: IssuedLicense, machine: string) => (url: string) =>
  call(url, 'POST', '/v1/activate', activation(license, machine));

const releasing = (id: string) => (url: string) =>
  call(url, 'POST', `/support/api/activations/${id}/release`, { reason: 'a race' }, { authorization });

const fifty = <T>(make: (i: number) => T) => Array.from({ length: 50 }, (_, i) => make(i));

test.each(ROUNDS)(
  'of 50 machines that activate concurrently, 3 are allowed and 47 refused (round %i)',
  async () => {
    const license = await one.issue({ machines_allowed: 3 });
    const { created, existing, refused } = await race(fifty((i) => activating(license, `machine ${i}`)));
    // A request may activate its machine and still be answered with 503. Its repetition then finds the activation.
    expect({ allowed: created + existing, refused }).toEqual({ allowed: 3, refused: 47 });
    expect(await one.activeMachines(license)).toHaveLength(3);
  },
);

test.each(ROUNDS)('50 concurrent activations of one machine create one activation (round %i)', async () => {
  const license = await one.issue();
  const ids = new Set<string>();
  const counts = await race(
    fifty(() => async (url) => {
      const answer = await activating(license, 'studio')(url);
      if (answer.status !== 503) ids.add(answer.json.activation.id);
      return answer;
    }),
  );
  expect(counts.created).toBeLessThanOrEqual(1);
  expect(counts.created + counts.existing).toBe(50);
  expect((await one.activeMachines(license)).map(({ id }) => id)).toEqual([...ids]);
});

test.each(ROUNDS)(
  'concurrent releases and activations never exceed the machine limit (round %i)',
  async () => {
    const license = await one.issue({ machines_allowed: 3 });
    await race(['a', 'b', 'c'].map((machine) => activating(license, machine)));
    const releases = (await one.activeMachines(license)).map(({ id }) => releasing(id));
    // Some activations are sent before a release, some after it.
    const requests = fifty((i) => activating(license, `machine ${i}`));
    let released = 0;
    const countSuccess = (release: (url: string) => Promise<Answer>) => async (url: string) => {
      const answer = await release(url);
      if (answer.status === 200) released += 1;
      return answer;
    };
    for (const [i, release] of releases.entries()) requests.splice(10 * (i + 1), 0, countSuccess(release));

    const observed = { maximum: 0, isFinished: false };
    const watch = async () => {
      while (!observed.isFinished)
        observed.maximum = Math.max(observed.maximum, (await one.activeMachines(license)).length);
    };
    const [counts] = await Promise.all([race(requests).finally(() => (observed.isFinished = true)), watch()]);

    // `race` counts the 200 of each release as `existing`.
    const allowed = counts.created + counts.existing - released;
    expect({ released, activations: allowed + counts.refused }).toEqual({ released: 3, activations: 50 });
    expect(observed.maximum).toBeLessThanOrEqual(3);
    expect(await one.activeMachines(license)).toHaveLength(allowed);
    expect(allowed).toBeLessThanOrEqual(3);

    // The race may have left places free. Exactly these can be used now.
    const later = await race(fifty((i) => activating(license, `later machine ${i}`)));
    expect(later.created + later.existing).toBe(3 - allowed);
    expect(await one.activeMachines(license)).toHaveLength(3);
  },
);
