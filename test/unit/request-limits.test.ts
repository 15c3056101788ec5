import { expect, test } from '@jest/globals';
import { maintenanceDataSource, requestDataSourceOptions } from '../../src/database/data-source.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { LIMITS_OF_PRODUCTION as LIMITS, withLimits } from '../support/limits.js';
import { extendLimits } from '../support/request-limits.js';

/** No step of a request takes this long, even on a slow computer that runs the tests. */
const SLOW_STEP_MS = 40_000;

test('the time limits of production let each answer to a client go out within 2 seconds', () => {
  expect(LIMITS.answer).toBeLessThan(2_000);
  // No step ends after the limit of the answer, whatever part of the database is unavailable.
  expect(LIMITS.connection + LIMITS.statement).toBeLessThan(LIMITS.answer);
  expect(LIMITS.connection + LIMITS.silence).toBeLessThanOrEqual(LIMITS.answer);
  expect(LIMITS.statement).toBeLessThan(LIMITS.silence);
  expect(LIMITS.telemetry).toBeLessThan(LIMITS.answer);
  expect(LIMITS.replica + LIMITS.telemetry).toBeLessThan(LIMITS.answer);
});

test('the connections of requests and of maintenance have the time limits of REQUEST_TIMEOUTS_MS', () => {
  expect(requestDataSourceOptions('postgres://h/d').extra).toMatchObject({
    connectionTimeoutMillis: REQUEST_TIMEOUTS_MS.connection,
    statement_timeout: REQUEST_TIMEOUTS_MS.statement,
    idle_in_transaction_session_timeout: REQUEST_TIMEOUTS_MS.idleInTransaction,
  });
  // Retention, erasures and commands open such connections. On a slow machine this takes longer than the 5 seconds of production,
  // so tests need a longer limit.
  const connectionTimeoutMillis = REQUEST_TIMEOUTS_MS.maintenanceConnection;
  expect(maintenanceDataSource('postgres://h/d').options).toMatchObject({
    extra: { connectionTimeoutMillis },
  });
});

test('a service that starts with other time limits has them on its connections, as tests need it', () =>
  withLimits({ connection: 111, statement: 222, idleInTransaction: 333 }, async () => {
    expect(requestDataSourceOptions('postgres://h/d').extra).toMatchObject({
      connectionTimeoutMillis: 111,
      statement_timeout: 222,
      idle_in_transaction_session_timeout: 333,
    });
  }));

test('tests that are not about the time limits have limits that even a slow computer does not exceed', () => {
  const wide = extendLimits(LIMITS);
  const names = [
    'connection',
    'maintenanceConnection',
    'statement',
    'silence',
    'idleInTransaction',
    'answer',
    'telemetry',
  ] as const;
  for (const name of names) expect(wide[name]).toBeGreaterThan(SLOW_STEP_MS);
});
