import { only } from '../plan.js';
import { replaced } from './planting.js';
import { ALONE, TOGETHER, type PlantedBug } from './planted-bug.js';
import {
  CHANGE_LICENSE,
  CHANGE_PURCHASE_STATE,
  LOCK_LICENSE,
  STORE_PURCHASE,
  STORE_REPLACED_KEY,
  withoutLock,
} from './statements.js';

/** Bugs of changes by staff and by the payment processor. */
export const CHANGE_BUGS: readonly PlantedBug[] = [
  {
    name: 'a late report of payment revives a refunded purchase',
    seed: 3,
    shape: { ...ALONE, isSold: true, kinds: { paid: 4, refunded: 2, erase: 0 } },
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
    shape: { ...ALONE, isSold: true, kinds: { dispute_won: 4, status: 6, refunded: 0, erase: 0 } },
    plant: (planting) =>
      planting.on(CHANGE_PURCHASE_STATE, async ({ values: [purchase, state], run }) => {
        if (state === 'dispute_won')
          await run(`update license set staff_status = 'active' where purchase_id = $1`, [purchase]);
        return run();
      }),
  },
  {
    name: 'two replacements of the key at once make one key',
    seed: 24,
    shape: { ...TOGETHER, isSold: false, kinds: only('rekey', 'activate') },
    plant: (planting) => {
      withoutLock(planting);
      planting.on(STORE_REPLACED_KEY, async ({ run }) => {
        await planting.gate.untilAnother();
        return run();
      });
    },
  },
  {
    name: 'a change writes back what it read before another change',
    seed: 4,
    shape: { ...TOGETHER, isSold: false, kinds: only('machines', 'status') },
    plant: (planting) => {
      const read = new WeakMap<object, number>();
      planting.on(LOCK_LICENSE, async ({ text, connection, run }) => {
        const license = await run(replaced(text, / for update$/i, ''));
        const [row] = license.rows as { License_machines_allowed: number }[];
        if (row) read.set(connection, row.License_machines_allowed);
        return license;
      });
      planting.on(CHANGE_LICENSE, async ({ text, values, connection, run }) => {
        // Both have read; the limit is written first.
        await planting.gate.untilAnother();
        if (/"machines_allowed" =/.test(text)) return run();
        await planting.gate.untilReturned(
          (command) => command.do === 'change' && command.terms.machines_allowed !== undefined,
        );
        return run(replaced(text, / set /i, ` set "machines_allowed" = ${read.get(connection)}, `), values);
      });
    },
  },
  {
    name: 'a lowered limit ends machines',
    seed: 1,
    shape: { ...ALONE, kinds: { activate: 20, machines: 8 } },
    plant: (planting) =>
      planting.trigger(
        'license',
        'update',
        `if new.machines_allowed < old.machines_allowed then
           USED update activation set ended_at = now(), ended_reason = 'released'
                where license_id = new.id and ended_at is null;
         end if;`,
      ),
  },
];
