import { expect, test } from '@jest/globals';
import { activation, call, retryWhileUnavailable, Service } from '../support/harness.js';
import { Browser } from './harness.js';

const ROUNDS = 200;
const EMAIL = 'ada@example.com';

/** Two instances with one database, as behind a load balancer. */
const one = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '1000' } });
const two = await Service.beside(one);

test(`of two machines that activate while the holder releases the active one, exactly one is activated, ${ROUNDS} times`, async () => {
  const license = await one.issue({ email: EMAIL, machines_allowed: 1 });
  const holder = await new Browser(one).beginSession(EMAIL);
  const activate = async ({ url }: Service, machine: string) =>
    retryWhileUnavailable(() => call(url, 'POST', '/v1/activate', activation(license, machine)));
  const release = async (id: string) =>
    retryWhileUnavailable(() => holder.call('POST', `/activations/${id}/release`));

  let { id } = (await activate(one, 'first')).json.activation;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const bothActivate = () => [activate(one, `${round} a`), activate(two, `${round} b`)];
    const [released, ...raced] = await Promise.all([release(id), ...bothActivate()]);
    expect(released.status).toBe(200);
    // Both may have been refused before the release. Then they try again, as clients do.
    const isRefused = raced.every(({ status }) => status === 409);
    const answers = isRefused ? await Promise.all(bothActivate()) : raced;
    const [accepted, refused] = answers.toSorted((a, b) => a.status - b.status);
    expect(refused).toMatchObject({ status: 409, json: { code: 'machine_limit_reached' } });
    ({ id } = accepted!.json.activation);
    expect(await one.sql('select id from activation where ended_at is null')).toEqual([{ id }]);
  }
});
