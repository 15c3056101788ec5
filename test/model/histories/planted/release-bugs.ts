import { onlyKinds } from '../plan.js';
import { replacePart, resultOf } from './planting.js';
import { ONE_CLIENT, TWO_CLIENTS, type PlantedBug } from './planted-bug.js';
import {
  COMMIT,
  COUNT_SELF_RELEASES,
  END_ACTIVATIONS,
  END_REFUNDED_ACTIVATIONS,
  plantMissingLock,
} from './statements.js';

const RELEASES = { activate: 12, release: 10, heartbeat: 4 };

/** Bugs of releases, refunds and erasures, which end activations. */
export const RELEASE_BUGS: readonly PlantedBug[] = [
  {
    name: 'a refund leaves the machines active',
    seed: 1,
    shape: { ...ONE_CLIENT, isSold: true, kinds: { refunded: 3, erase: 0 } },
    plant: (planting) => planting.intercept(END_REFUNDED_ACTIVATIONS, async () => resultOf([])),
  },
  {
    name: 'a release of an ended activation changes how the activation ended',
    seed: 3,
    shape: { ...ONE_CLIENT, isSold: true, kinds: { refunded: 3, release: 10, erase: 0 } },
    plant: (planting) =>
      planting.intercept(END_ACTIVATIONS, async ({ text, run }) =>
        run(replacePart(text, / and "ended_at" is null/i, '')),
      ),
  },
  {
    name: 'a release is confirmed but not committed',
    seed: 1,
    shape: { ...ONE_CLIENT, kinds: RELEASES },
    plant: (planting) => {
      const released = new WeakSet<object>();
      planting.intercept(END_ACTIVATIONS, async ({ connection, run }) => {
        released.add(connection);
        return run();
      });
      planting.intercept(COMMIT, async ({ connection, run }) =>
        released.delete(connection) ? run('rollback', []) : run(),
      );
    },
  },
  {
    name: 'a release ends every activation of the license',
    seed: 6,
    shape: { ...ONE_CLIENT, kinds: RELEASES },
    plant: (planting) =>
      planting.intercept(END_ACTIVATIONS, async ({ text, run }) => {
        const ofLicense = '"license_id" = (select license_id from activation where id =';
        return run(
          replacePart(replacePart(text, /"id" =/i, ofLicense), / and "ended_at"/i, ') and "ended_at"'),
        );
      }),
  },
  {
    name: 'an erasure leaves the machines active',
    seed: 1,
    shape: { ...ONE_CLIENT, kinds: { erase: 3 } },
    plant: (planting) =>
      planting.trigger(
        'activation',
        'update',
        (recordUse) => `if new.machine_id is null and old.ended_at is null then
           ${recordUse} new.machine_id = old.machine_id; new.ended_at = null; new.ended_reason = null;
         end if;`,
      ),
  },
  {
    name: 'self-releases are counted without the lock of the license',
    seed: 23,
    shape: { ...TWO_CLIENTS, isSold: false, kinds: onlyKinds('activate', 'self-release') },
    plant: (planting) => {
      plantMissingLock(planting);
      planting.intercept(COUNT_SELF_RELEASES, async ({ run }) => {
        const counted = await run();
        // Waits until the other client has counted too, so that neither count includes the other's release.
        await planting.gate.waitForAnother();
        return counted;
      });
    },
  },
  {
    name: 'a self-release is stored as a release by staff',
    seed: 1,
    shape: { ...ONE_CLIENT, kinds: { activate: 20, 'self-release': 10 } },
    plant: (planting) =>
      planting.intercept(END_ACTIVATIONS, async ({ values, run }) =>
        run(
          undefined,
          // The one boolean among the values is `released_by_holder`.
          values.map((value) => (value === true ? false : value)),
        ),
      ),
  },
];
