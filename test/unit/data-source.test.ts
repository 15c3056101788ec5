import { expect, test } from '@jest/globals';
import { maintenanceDataSource, requestDataSourceOptions } from '../../src/database/data-source.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';

const SESSION_OPTIONS =
  '-c timezone=UTC -c datestyle=ISO -c standard_conforming_strings=on -c default_transaction_isolation=read\\ committed';
const NO_LIMITS =
  '-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0';
const BACKGROUND_OPTIONS = `${NO_LIMITS} -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3`;
const REQUEST_OPTIONS = `${SESSION_OPTIONS} -c jit=off -c max_parallel_workers_per_gather=0`;

test('parameters of DATABASE_URL do not replace the session settings that the code needs', () => {
  const url = 'postgres://u:p@h:5432/d?options=-c%20search_path%3Dx&statement_timeout=60000&sslmode=require';
  const { url: usedUrl, extra } = requestDataSourceOptions(url);
  expect(usedUrl).toBe('postgres://u:p@h:5432/d?sslmode=require');
  expect(extra).toMatchObject({
    statement_timeout: REQUEST_TIMEOUTS_MS.statement,
    options: `-c search_path=x ${REQUEST_OPTIONS}`,
  });
  expect(maintenanceDataSource(url).options).toMatchObject({
    url: 'postgres://u:p@h:5432/d?sslmode=require',
    extra: { options: `-c search_path=x ${SESSION_OPTIONS} ${BACKGROUND_OPTIONS}` },
  });
});

test('a DATABASE_URL without session settings is not changed', () => {
  const socket = 'postgres:///mooring?host=%2Fvar%2Frun%2Fpostgresql';
  expect(requestDataSourceOptions(socket)).toMatchObject({
    url: socket,
    extra: { options: REQUEST_OPTIONS },
  });
});
