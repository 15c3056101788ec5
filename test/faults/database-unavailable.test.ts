import { expect, test } from '@jest/globals';
import { DataSource, type EntityManager } from 'typeorm';
import { isTemporaryDatabaseError } from '../../src/database/temporary-errors.js';
import { License } from '../../src/licenses/license.entity.js';
import { Service } from '../support/harness.js';

const service = await Service.start();

/** Ends the connection of a transaction, and waits until the driver has detected that. */
async function breakConnection(manager: EntityManager): Promise<void> {
  const [{ pid }] = (await manager.query('select pg_backend_pid() as pid')) as [{ pid: number }];
  await service.sql('select pg_terminate_backend($1, 5000)', [pid]);
  while (!manager.queryRunner!.isReleased) await new Promise(setImmediate);
}

test.each<[string, (manager: EntityManager) => Promise<unknown>]>([
  ['a statement', (manager) => manager.query('select 1')],
  ['a read of an entity', (manager) => manager.findOneBy(License, { id: crypto.randomUUID() })],
  [
    'a change of an entity',
    (manager) => manager.update(License, { id: crypto.randomUUID() }, { key_hint: '' }),
  ],
  ['its commit', async () => undefined],
])('a connection that breaks in a transaction before %s counts as an outage', async (_what, next) => {
  const transaction = service.app.get(DataSource).transaction(async (manager) => {
    await breakConnection(manager);
    await next(manager);
  });
  const error: unknown = await transaction.then(
    () => 'committed',
    (thrown: unknown) => thrown,
  );
  expect([error, isTemporaryDatabaseError(error)]).toEqual([expect.anything(), true]);
});

test.each(['ECONNREFUSED', 'ENETUNREACH', 'EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS'])(
  'a database connection that cannot be opened (%s) counts as an outage; an error of the connection of a caller does not',
  (code) => {
    // An error of the connection of a caller has no system call.
    const errorWith = (members: object) => Object.assign(new Error(`connect ${code}`), { code, ...members });
    expect(isTemporaryDatabaseError(errorWith({ syscall: 'connect' }))).toBe(true);
    expect(isTemporaryDatabaseError(errorWith({}))).toBe(false);
  },
);
