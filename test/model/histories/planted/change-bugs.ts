import { onlyKinds } from '../plan.js';
import { replacePart } from './planting.js';
import { ONE_CLIENT, TWO_CLIENTS, type PlantedBug } from './planted-bug.js';
import {
  CHANGE_LICENSE,
  CHANGE_PURCHASE_STATE,
  LOCK_LICENSE,
  STORE_PURCHASE,
  STORE_REPLACED_KEY,
  plantMissingLock,
} from './statements.js';

/** Bugs of changes by staff and by the payment processor. */
export const CHANGE_BUGS: readonly PlantedBug[] = [
  {
    name: 'a late report of payment makes a refunded purchase paid again',
    seed: 3,
    shape: { ...ONE_CLIENT, isSold: true, kinds: { paid: 4, refunded: 2, erase: 0 } },
    plant: (planting) =>
      planting.replace(
        STORE_PURCHASE,
        /on conflict do nothing/,
        'on conflict (transaction_id) do update set state = excluded.state',
      ),
  },
  {
    name: 'a dispute that was won lifts a suspension by staff',
    seed: 3,
    shape: { ...ONE_CLIENT, isSold: true, kinds: { dispute_won: 4, status: 6, refunded: 0, erase: 0 } },
    plant: (planting) =>
      planting.intercept(CHANGE_PURCHASE_STATE, async ({ values: [purchase, state], run }) => {
        if (state === 'dispute_won')
          await run(`update license set staff_status = 'active' where purchase_id = $1`, [purchase]);
        return run();
      }),
  },
  {
    name: 'two concurrent replacements of the license key create the same key',
    seed: 24,
    shape: { ...TWO_CLIENTS, isSold: false, kinds: onlyKinds('rekey', 'activate') },
    plant: (planting) => {
      plantMissingLock(planting);
      planting.intercept(STORE_REPLACED_KEY, async ({ run }) => {
        await planting.gate.waitForAnother();
        return run();
      });
    },
  },
  {
    name: 'a change overwrites a concurrent change of another column with the old value',
    seed: 4,
    shape: { ...TWO_CLIENTS, isSold: false, kinds: onlyKinds('machines', 'status') },
    plant: (planting) => {
      const read = new WeakMap<object, number>();
      planting.intercept(LOCK_LICENSE, async ({ text, connection, run }) => {
        const license = await run(replacePart(text, / for update$/i, ''));
        const [row] = license.rows as { License_machines_allowed: number }[];
        if (row) read.set(connection, row.License_machines_allowed);
        return license;
      });
      planting.intercept(CHANGE_LICENSE, async ({ text, values, connection, run }) => {
        // Both changes have read the license. The change of the limit is written first.
        await planting.gate.waitForAnother();
        if (/"machines_allowed" =/.test(text)) return run();
        await planting.gate.waitForReturn(
          (command) => command.type === 'change-license' && command.terms.machines_allowed !== undefined,
        );
        return run(
          replacePart(text, / set /i, ` set "machines_allowed" = ${read.get(connection)}, `),
          values,
        );
      });
    },
  },
  {
    name: 'a lower machine limit ends activations',
    seed: 1,
    shape: { ...ONE_CLIENT, kinds: { activate: 20, machines: 8 } },
    plant: (planting) =>
      planting.trigger(
        'license',
        'update',
        (recordUse) => `if new.machines_allowed < old.machines_allowed then
           ${recordUse} update activation set ended_at = now(), ended_reason = 'released'
                where license_id = new.id and ended_at is null;
         end if;`,
      ),
  },
];
