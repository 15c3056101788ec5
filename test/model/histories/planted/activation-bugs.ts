import { only } from '../plan.js';
import { ALONE, TOGETHER, type PlantedBug } from './planted-bug.js';
import { ACTIVATE, activateWrongly, FIND_LICENSE, STORE_PURCHASE } from './statements.js';

/** Bugs of activations: a machine is accepted that must be refused, or refused although it must be accepted. */
export const ACTIVATION_BUGS: readonly PlantedBug[] = [
  {
    name: 'an activation counts and inserts without the lock of the license',
    seed: 2,
    shape: { ...TOGETHER, isSold: false, kinds: only('activate') },
    plant: (planting) =>
      planting.on(ACTIVATE, (statement) =>
        activateWrongly(statement, { between: () => planting.gate.untilAnother() }),
      ),
  },
  {
    name: 'machines are counted before the license is locked',
    seed: 2,
    shape: { ...TOGETHER, isSold: false, kinds: only('activate') },
    plant: (planting) =>
      planting.on(ACTIVATE, async (statement) => {
        const lock = async () => {
          await planting.gate.untilAnother();
          await statement.run('select 1 from license where id = $1 for update', [statement.values[0]]);
        };
        return activateWrongly(statement, { between: lock });
      }),
  },
  {
    name: 'one machine more than the limit',
    seed: 5,
    shape: ALONE,
    plant: (planting) =>
      planting.on(ACTIVATE, (statement) =>
        activateWrongly(statement, {
          isFree: ({ machines_in_use, machines_allowed }) => machines_in_use <= machines_allowed,
        }),
      ),
  },
  {
    name: 'a released machine still counts',
    seed: 1,
    shape: ALONE,
    plant: (planting) => planting.on(ACTIVATE, (statement) => activateWrongly(statement, { count: 'true' })),
  },
  {
    name: 'a machine that is active takes a second place',
    seed: 1,
    shape: ALONE,
    // The activation of the machine is not found, and the unique index that would refuse a second one gets another machine.
    plant: (planting) =>
      planting.trigger(
        'activation',
        'insert',
        `USED new.machine_id = sha256(new.machine_id || new.id::text::bytea);`,
      ),
  },
  {
    name: 'an activation is answered and not committed',
    seed: 1,
    shape: ALONE,
    plant: (planting) =>
      planting.on(ACTIVATE, async ({ run }) => {
        await run('begin', []);
        const result = await run();
        await run('rollback', []);
        return result;
      }),
  },
  {
    name: 'an activation that was judged before a refund is stored after it',
    seed: 8,
    shape: { ...TOGETHER, isSold: true, kinds: only('activate', 'refunded') },
    plant: (planting) => {
      planting.on(STORE_PURCHASE, async ({ values: [, , status], run }) => {
        if (status === 'refunded') await planting.gate.untilHeld();
        return run();
      });
      planting.on(ACTIVATE, async ({ values: [license, _judged, ...rest], run }) => {
        await planting.gate.untilReturned(
          (command) => command.do === 'report' && command.status === 'refunded',
        );
        const now = await run(
          `select concat(l.xmin, ' ', p.xmin) as revision from license l left join purchase p on p.id = l.purchase_id
           where l.id = $1`,
          [license],
        );
        const [{ revision }] = now.rows as [{ revision: string }];
        return run(undefined, [license, revision, ...rest]);
      });
    },
  },
  {
    name: 'an activation ignores that the license has expired',
    seed: 2,
    shape: { ...ALONE, kinds: { expiry: 6, on_expiry: 3 } },
    plant: (planting) => planting.replace(FIND_LICENSE, /\bl\.on_expiry\b/, `'keep' as on_expiry`),
  },
  {
    name: 'a replaced key still activates',
    seed: 9,
    shape: { ...ALONE, kinds: { rekey: 6 } },
    plant: (planting) =>
      planting.replace(
        FIND_LICENSE,
        /l\.key_hash = \$1/,
        'exists (select l.key_hash where l.key_hash = $1 union select key_hash from replaced_key where license_id = l.id and key_hash = $1)',
      ),
  },
];
