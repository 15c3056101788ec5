import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Faulted, NEEDS_DATABASE, refused, served, type Heard } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres, type Load } from '../support/databases/outage-harness.js';

let postgres: FragilePostgres;
let faulted: Faulted;
let load: Load<Heard> | undefined;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await Faulted.start(() => postgres.url);
});
afterEach(async () => {
  postgres.thaw();
  await load?.stop().catch(() => undefined);
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

/** Whether it is the answer of a healthy service without its database. */
const saysSo = ({ name, json }: Heard): boolean =>
  name === 'ready' &&
  isDeepStrictEqual(json, { status: 'ready', warnings: ['The database does not answer.'] });

test.each([
  ['stopped in the middle of everything', () => postgres.stop(), () => postgres.restart()],
  ['frozen', async () => postgres.freeze(), async () => postgres.thaw()],
])(
  'a database that is %s makes every answer that needs it a 503 within 2 seconds, and no other',
  async (_what, fail, recover) => {
    load = faulted.load();
    await load.more(50, served);
    await fail();
    // Whatever was under way is over: from here on no request is served.
    await load.more(12, refused);
    const from = load.answers.length;
    for (const name of NEEDS_DATABASE)
      await load.more(3, (answer) => answer.name === name && refused(answer));
    for (const name of ['manifest', 'live', 'ready']) await load.more(3, (answer) => answer.name === name);
    // Up to a second later, since probes share one look at the database a second.
    await load.more(1, saysSo);
    const during = load.answers.slice(from);
    await recover();
    // By itself: the service gets no signal.
    const recovery = await faulted.recovery(load);
    const answers = await load.stop();

    expect(during.filter(served)).toEqual([]);
    await expectPromises(faulted, answers, recovery);
  },
);
