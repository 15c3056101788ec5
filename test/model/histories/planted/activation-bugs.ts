import { onlyKinds } from '../plan.js';
import { ONE_CLIENT, TWO_CLIENTS, type PlantedBug } from './planted-bug.js';
import { ACTIVATE, activateWrongly, FIND_LICENSE, STORE_PURCHASE } from './statements.js';

export const ACTIVATION_BUGS: readonly PlantedBug[] = [
  {
    name: 'an activation counts machines and inserts a row without locking the license',
    seed: 2,
    shape: { ...TWO_CLIENTS, isSold: false, kinds: onlyKinds('activate') },
    plant: (planting) =>
      planting.intercept(ACTIVATE, (statement) =>
        activateWrongly(statement, { beforeInsert: () => planting.gate.waitForAnother() }),
      ),
  },
  {
    name: 'an activation counts machines before it locks the license',
    seed: 2,
    shape: { ...TWO_CLIENTS, isSold: false, kinds: onlyKinds('activate') },
    plant: (planting) =>
      planting.intercept(ACTIVATE, async (statement) => {
        const lock = async () => {
          await planting.gate.waitForAnother();
          await statement.run('select 1 from license where id = $1 for update', [statement.values[0]]);
        };
        return activateWrongly(statement, { beforeInsert: lock });
      }),
  },
  {
    name: 'one machine more than the limit is accepted',
    seed: 5,
    shape: ONE_CLIENT,
    plant: (planting) =>
      planting.intercept(ACTIVATE, (statement) =>
        activateWrongly(statement, {
          isAccepted: ({ machines_in_use, machines_allowed }) => machines_in_use <= machines_allowed,
        }),
      ),
  },
  {
    name: 'a released machine still counts towards the limit',
    seed: 1,
    shape: ONE_CLIENT,
    plant: (planting) =>
      planting.intercept(ACTIVATE, (statement) => activateWrongly(statement, { countedRows: 'true' })),
  },
  {
    name: 'a machine that activates twice counts twice',
    seed: 1,
    shape: ONE_CLIENT,
    // Each row gets another machine id, so that a repeated activation neither finds the first one nor violates the unique index.
    plant: (planting) =>
      planting.trigger(
        'activation',
        'insert',
        (recordUse) => `${recordUse} new.machine_id = sha256(new.machine_id || new.id::text::bytea);`,
      ),
  },
  {
    name: 'an activation is confirmed but not committed',
    seed: 1,
    shape: ONE_CLIENT,
    plant: (planting) =>
      planting.intercept(ACTIVATE, async ({ run }) => {
        await run('begin', []);
        const result = await run();
        await run('rollback', []);
        return result;
      }),
  },
  {
    name: 'an activation that was checked before a refund is stored after it',
    seed: 8,
    shape: { ...TWO_CLIENTS, isSold: true, kinds: onlyKinds('activate', 'refunded') },
    plant: (planting) => {
      planting.intercept(STORE_PURCHASE, async ({ values: [, , status], run }) => {
        if (status === 'refunded') await planting.gate.waitForHeldStatement();
        return run();
      });
      planting.intercept(ACTIVATE, async ({ values: [license, _checkedRevision, ...rest], run }) => {
        await planting.gate.waitForReturn(
          (command) => command.type === 'report' && command.status === 'refunded',
        );
        const current = await run(
          `select concat(l.xmin, ' ', p.xmin) as revision from license l left join purchase p on p.id = l.purchase_id
           where l.id = $1`,
          [license],
        );
        // With the revision after the refund, the service does not notice that the license has changed since its check.
        const [{ revision }] = current.rows as [{ revision: string }];
        return run(undefined, [license, revision, ...rest]);
      });
    },
  },
  {
    name: 'an activation ignores that the license has expired',
    seed: 2,
    shape: { ...ONE_CLIENT, kinds: { expiry: 6, on_expiry: 3 } },
    plant: (planting) => planting.replace(FIND_LICENSE, /\bl\.on_expiry\b/, `'keep' as on_expiry`),
  },
  {
    name: 'a replaced key still activates',
    seed: 9,
    shape: { ...ONE_CLIENT, kinds: { rekey: 6 } },
    plant: (planting) =>
      planting.replace(
        FIND_LICENSE,
        /l\.key_hash = given\.key_hash/,
        'exists (select l.key_hash where l.key_hash = given.key_hash union select key_hash from replaced_key where license_id = l.id and key_hash = given.key_hash)',
      ),
  },
];
