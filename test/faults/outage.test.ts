import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { FaultedService, NEEDS_DATABASE, refused, served, type RecordedAnswer } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres, type Load } from '../support/databases/outage-harness.js';

let postgres: FragilePostgres;
let faulted: FaultedService;
let load: Load<RecordedAnswer> | undefined;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await FaultedService.start(() => postgres.url);
});
afterEach(async () => {
  postgres.thaw();
  await load?.stop().catch(() => undefined);
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

/** Whether a response is that of a healthy service without its database. */
const saysSo = ({ name, json }: RecordedAnswer): boolean =>
  name === 'ready' &&
  isDeepStrictEqual(json, { status: 'ready', warnings: ['The database does not answer.'] });

test.each([
  ['stopped in the middle of everything', () => postgres.stop(), () => postgres.restart()],
  ['frozen', async () => postgres.freeze(), async () => postgres.thaw()],
])(
  'with a database that is %s, exactly the calls that need it get 503, within 2 seconds',
  async (_what, fail, recover) => {
    load = faulted.load();
    await load.more(50, served);
    await fail();
    // The calls in progress have ended: from now on no request is served.
    await load.more(12, refused);
    const from = load.answers.length;
    for (const name of NEEDS_DATABASE)
      await load.more(3, (answer) => answer.name === name && refused(answer));
    for (const name of ['manifest', 'live', 'ready']) await load.more(3, (answer) => answer.name === name);
    // It may take a second, because health checks share one check of the database per second.
    await load.more(1, saysSo);
    const during = load.answers.slice(from);
    await recover();
    // The service gets no signal, and recovers by itself.
    const recovery = await faulted.recovery(load);
    const answers = await load.stop();

    expect(during.filter(served)).toEqual([]);
    await expectPromises(faulted, answers, recovery);
  },
);
