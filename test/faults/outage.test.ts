import { isDeepStrictEqual } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import {
  FaultedService,
  NEEDS_DATABASE,
  isUnavailable,
  isServedByDatabase,
  type RecordedAnswer,
} from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres, type Load } from '../support/databases/outage-harness.js';

let load: Load<RecordedAnswer> | undefined;

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url);
afterEach(async () => {
  postgres.thaw();
  await load?.stop().catch(() => undefined);
});

/** Whether a response is the health check of a service whose database is unavailable. */
const reportsOutage = ({ name, json }: RecordedAnswer): boolean =>
  name === 'ready' &&
  isDeepStrictEqual(json, { status: 'ready', warnings: ['The database does not answer in time.'] });

test.each([
  ['stopped under load', () => postgres.stop(), () => postgres.restart()],
  ['frozen', async () => postgres.freeze(), async () => postgres.thaw()],
])(
  'with a database that is %s, exactly the calls that need it get 503, each within its time limit',
  async (_what, fail, recover) => {
    load = faulted.startLoad();
    await load.waitFor(50, isServedByDatabase);
    await fail();
    // About one refusal for each caller that needs the database. From here on, no call that needs it is served.
    await load.waitFor(12, isUnavailable);
    const from = load.answers.length;
    for (const name of NEEDS_DATABASE)
      await load.waitFor(3, (answer) => answer.name === name && isUnavailable(answer));
    for (const name of ['manifest', 'live', 'ready']) await load.waitFor(3, (answer) => answer.name === name);
    // This may take a second, because health checks share one check of the database per second.
    await load.waitFor(1, reportsOutage);
    const during = load.answers.slice(from);
    await recover();
    // The service recovers by itself: it is not notified that the database is available again.
    const recovery = await faulted.measureRecovery(load);
    const answers = await load.stop();

    expect(during.filter(isServedByDatabase)).toEqual([]);
    await expectGuarantees(faulted, answers, recovery);
  },
);
