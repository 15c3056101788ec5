import { expect, test } from '@jest/globals';
import { databaseFailure } from '../../src/database/open-database.js';

const ADDRESS = 'db.example.com:5432';

test.each([
  ['55P03', 'is busy: another transaction holds a lock that is needed (55P03): try again'],
  ['40P01', 'is busy: another transaction holds a lock that is needed (40P01): try again'],
  ['40001', 'is busy: another transaction changed the same rows (40001): try again'],
  ['57014', 'is busy: it has cancelled a statement that took too long (57014): try again'],
  ['57P03', 'does not answer (57P03): start it, or correct DATABASE_URL'],
])('a command that fails with %s says that the database %s', async (code, text) => {
  const error = Object.assign(new Error('Key (email)=(ada@example.com)'), { code });
  const { message } = (await databaseFailure(error, `postgres://mooring:secret@${ADDRESS}/mooring`)) as Error;
  expect(message).toBe(`The database at ${ADDRESS} ${text}.`);
});
