import { only } from '../plan.js';
import { replaced, resultOf } from './planting.js';
import { ALONE, TOGETHER, type PlantedBug } from './planted-bug.js';
import { COMMIT, COUNT_SELF_RELEASES, END_ACTIVATIONS, withoutLock } from './statements.js';

const RELEASES = { activate: 12, release: 10, heartbeat: 4 };

/** Bugs of releases, refunds and erasures, which end activations. */
export const RELEASE_BUGS: readonly PlantedBug[] = [
  {
    name: 'a refund leaves the machines active',
    seed: 1,
    shape: { ...ALONE, isSold: true, kinds: { refunded: 3, erase: 0 } },
    plant: (planting) =>
      planting.on(END_ACTIVATIONS, async ({ values, run }) =>
        values.includes('refunded') ? resultOf([]) : run(),
      ),
  },
  {
    name: 'a second release replaces how the activation ended',
    seed: 3,
    shape: { ...ALONE, isSold: true, kinds: { refunded: 3, release: 10, erase: 0 } },
    plant: (planting) =>
      planting.on(END_ACTIVATIONS, async ({ text, values, run }) =>
        values.includes('released') ? run(replaced(text, / and "ended_at" is null/i, '')) : run(),
      ),
  },
  {
    name: 'a release is answered and not committed',
    seed: 1,
    shape: { ...ALONE, kinds: RELEASES },
    plant: (planting) => {
      const released = new WeakSet<object>();
      planting.on(END_ACTIVATIONS, async ({ values, connection, run }) => {
        if (values.includes('released')) released.add(connection);
        return run();
      });
      planting.on(COMMIT, async ({ connection, run }) =>
        released.delete(connection) ? run('rollback', []) : run(),
      );
    },
  },
  {
    name: 'a release ends each machine of the license',
    seed: 6,
    shape: { ...ALONE, kinds: RELEASES },
    plant: (planting) =>
      planting.on(END_ACTIVATIONS, async ({ text, values, run }) => {
        if (!values.includes('released')) return run();
        const ofLicense = '"license_id" = (select license_id from activation where id =';
        return run(replaced(replaced(text, /"id" =/i, ofLicense), / and "ended_at"/i, ') and "ended_at"'));
      }),
  },
  {
    name: 'an erasure leaves a machine active',
    seed: 1,
    shape: { ...ALONE, kinds: { erase: 3 } },
    plant: (planting) =>
      planting.trigger(
        'activation',
        'update',
        `if new.machine_id is null and old.ended_at is null then
           USED new.machine_id = old.machine_id; new.ended_at = null; new.ended_reason = null;
         end if;`,
      ),
  },
  {
    name: 'self-releases are counted without the lock of the license',
    seed: 23,
    shape: { ...TOGETHER, isSold: false, kinds: only('activate', 'self-release') },
    plant: (planting) => {
      withoutLock(planting);
      planting.on(COUNT_SELF_RELEASES, async ({ run }) => {
        const counted = await run();
        await planting.gate.untilAnother();
        return counted;
      });
    },
  },
  {
    name: 'a self-release is stored as one of support',
    seed: 1,
    shape: { ...ALONE, kinds: { activate: 20, 'self-release': 10 } },
    plant: (planting) =>
      planting.on(END_ACTIVATIONS, async ({ values, run }) =>
        run(
          undefined,
          values.map((value) => (value === true ? false : value)),
        ),
      ),
  },
];
