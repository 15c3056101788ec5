import 'reflect-metadata';
import { hash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Writable } from 'node:stream';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { hostUrls } from '../../src/core/host-list.js';
import { poolOf } from '../../src/database/data-source.js';
import { isTemporaryDatabaseError } from '../../src/database/temporary-errors.js';
import { createApp } from '../../src/http/create-app.js';
import { MetricsService } from '../../src/monitoring/metrics/metrics.service.js';
import { WarningsService } from '../../src/monitoring/warnings/warnings.service.js';
import { AppLogger } from '../../src/core/logger.js';
import { LIMITS } from '../../src/http/limits/load-limits.js';
import type { PurchaseState } from '../../src/licenses/license.rules.js';
import { LicensesService, type LicenseChange, type NewLicense } from '../../src/licenses/licenses.service.js';
import { RetentionJob } from '../../src/retention/retention.job.js';
import type { Role } from '../../src/staff/identity/role.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { StaffTokensService } from '../../src/staff/tokens/staff-tokens.service.js';
import { validateAnswer } from './http/openapi.js';
import { afterThisFile } from './of-this-file.js';
import { profiled } from './profile.js';
import { LIMITS_OF_PRODUCTION, withLimits } from './limits.js';
import { MAX_WAIT_MS } from './until.js';

export const AUDIT_CONTEXT = { actor: 'test', reason: 'a test' };

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** The time at which a `FakeClock` starts. */
export const NOW = '2026-11-20T13:00:00Z';

/** A clock that a test sets. */
export class FakeClock extends Clock {
  #elapsed = 0;
  private time: Date;

  constructor(time: string | Date = NOW) {
    super();
    this.time = new Date(time);
  }

  override now(): Date {
    return new Date(this.time);
  }

  /** Sets the time. The monotonic clock advances with it, except if the time is set back. */
  set(time: string | Date): void {
    const before = this.time.getTime();
    this.time = new Date(time);
    this.#elapsed += Math.max(0, this.time.getTime() - before);
  }

  advance(milliseconds: number): void {
    this.set(new Date(this.time.getTime() + milliseconds));
  }

  override monotonic(): number {
    return this.#elapsed;
  }

  /** Changes the time forwards or backwards, and not the monotonic clock, as on a machine whose clock is set wrong. */
  jump(milliseconds: number): void {
    this.time = new Date(this.time.getTime() + milliseconds);
  }

  // A test sets its own time, so the clock of the database is never compared with it.
  override agreesWith(_databaseTime: Date, _at?: Date): boolean {
    return true;
  }
}

/** A response as it was received over the socket. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** The values of the `set-cookie` headers. */
  readonly cookies: string[];
  readonly text: string;
  /** The parsed body, from which tests read the members that they expect. */
  // oxlint-disable-next-line no-explicit-any -- the tests are about the shape of responses, and docs/openapi.yaml has their schemas
  readonly json: any;
}

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates a migrated database on the PostgreSQL server of this run. It is dropped at the end of the test file, or by `drop`. */
export const createDatabase = (): Promise<TestDatabase> => createCopy('mooring_template');

/** Copies a database, in place of a dump and its restore. The original must have no connection. */
export const copyDatabase = ({ url }: { url: string }): Promise<TestDatabase> =>
  createCopy(new URL(url).pathname.slice(1));

async function createCopy(template: string): Promise<TestDatabase> {
  const database = await cloneTemplate(template);
  afterThisFile(database.drop);
  return database;
}

async function cloneTemplate(template = 'mooring_template'): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await profiled('cloning the template database', () =>
    executeAsAdmin(`create database ${name} template ${template}`),
  );
  const url = new URL(process.env['MOORING_TEST_POSTGRES']!);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => executeAsAdmin(`drop database if exists ${name} with (force)`, name),
  };
}

/** Opens a connection to a database, which is closed at the end of the test file. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  afterThisFile(() => client.end());
  return client;
}

/**
 * How often it is checked, before a database is dropped, whether its connections have ended by themselves, and the pause after each
 * check. The drop terminates the others.
 */
const [MAX_CHECKS, CHECK_INTERVAL_MS] = [200, 5];
const SELECT_CONNECTIONS =
  "select from pg_stat_activity where datname = $1 and backend_type = 'client backend'";

/** A client with two methods that its type lacks. They decide whether its open connection keeps the process alive. */
type AdminClient = pg.Client & { ref(): void; unref(): void };

/** The connection of this process to the default database of the server, which all test files of the process use. */
let adminConnection: Promise<AdminClient> | undefined;

async function connectAsAdmin(): Promise<AdminClient> {
  const client = new pg.Client(process.env['MOORING_TEST_POSTGRES']) as AdminClient;
  const forget = () => (adminConnection = undefined);
  // At the end of the run the server closes the connection.
  client.on('error', forget);
  // The connection keeps the process alive only while a query runs.
  client.on('drain', () => client.unref());
  try {
    await client.connect();
    return client;
  } catch (error) {
    forget();
    throw error;
  }
}

/**
 * Executes a statement in the default database of the server.
 * @param database a database whose connections should end first, because errors of cut connections could reach the next test file
 */
async function executeAsAdmin(sql: string, database?: string): Promise<void> {
  const client = await (adminConnection ??= connectAsAdmin());
  const query = (text: string, values: unknown[] = []) => {
    client.ref();
    return client.query(text, values);
  };
  const isUsed = async () => !!database && (await query(SELECT_CONNECTIONS, [database])).rowCount! > 0;
  for (let checks = 0; checks < MAX_CHECKS && (await isUsed()); checks += 1) await pause(CHECK_INTERVAL_MS);
  // Two processes may clone the template at the same time, which PostgreSQL refuses: the lock makes the second one wait.
  await query('select pg_advisory_lock(1)');
  await query(sql).finally(() => query('select pg_advisory_unlock(1)'));
}

/** The time after which the service closes an idle connection, longer than any test. */
const IDLE_CONNECTION_TIMEOUT_MS = 3_600_000;

/** Starts a service. If a stalled computer makes it fail to reach the database, it is started again, as by a supervisor. */
async function listenWithRetries(
  create: () => Promise<NestFastifyApplication>,
  port: number,
  attempts = 50,
): Promise<NestFastifyApplication> {
  let app: NestFastifyApplication | undefined;
  try {
    app = await create();
    await app.listen({ port, host: '127.0.0.1' });
    await app.get(MetricsService).listen();
    return app;
  } catch (error) {
    await app?.close();
    if (attempts > 1 && isTemporaryDatabaseError(error)) return listenWithRetries(create, port, attempts - 1);
    throw error;
  }
}

export interface IssuedLicense {
  license_id: string;
  license_key: string;
  email: string;
}

export interface ServiceOptions {
  readonly clock?: FakeClock;
  /** Settings in addition to those of the harness. */
  readonly environment?: Record<string, string>;
  /** The database of another service, for two services with one database. */
  readonly databaseUrl?: string;
  /** The data directory of another service, to share its keys. */
  readonly dataDir?: string;
}

// At module level: functions that are created while a service starts would keep its application in memory.
const ignore = () => undefined;
const writeTo = (lines: string[]) =>
  new Writable({ write: (chunk, _encoding, done) => (lines.push(String(chunk)), done()) });

/**
 * A complete service in this process: the real application on a real port, with its own database and a clock that tests set. It
 * is closed at the end of the test file, or by `close`.
 */
export class Service {
  readonly #closing: (() => Promise<unknown>)[] = [];
  /** Not a `#` member, because some tests create objects whose prototype is a service. */
  private opened: NestFastifyApplication | undefined;

  private constructor(
    readonly url: string,
    readonly databaseUrl: string,
    readonly dataDir: string,
    app: NestFastifyApplication,
    readonly clock: FakeClock,
    /** The lines that the service has logged. */
    readonly logged: string[],
    readonly database: pg.Pool,
  ) {
    this.opened = app;
  }

  /** The application, until it is closed. */
  get app(): NestFastifyApplication {
    return this.opened!;
  }

  /** Starts another instance with the database and the data directory of a service. */
  static beside({ databaseUrl, dataDir }: Service, options: ServiceOptions = {}): Promise<Service> {
    return Service.start({ ...options, databaseUrl, dataDir });
  }

  static start(options: ServiceOptions = {}): Promise<Service> {
    return profiled('starting a service', () => Service.#start(options));
  }

  static async #start(options: ServiceOptions): Promise<Service> {
    const clock = options.clock ?? new FakeClock();
    const created = options.databaseUrl ? undefined : await cloneTemplate();
    const databaseUrl = options.databaseUrl ?? created!.url;
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'mooring-data-')));
    const config = new Config({
      NODE_ENV: 'development',
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      ...options.environment,
    });
    const logged: string[] = [];
    const log = new AppLogger(config.logLevel, writeTo(logged));
    // The tests use the same event loop, so waiting times do not show the load of the service. 0 turns this limit off.
    const limits = { ...LIMITS, waitingMs: 0 };
    // A test with a browser chooses the port before, because the origin of the browser must be that of PUBLIC_URL.
    const port = options.environment?.['PORT'] ? config.port : 0;
    const app = await listenWithRetries(
      () => createApp(AppModule.forRoot({ config, clock, log, databaseUrl }), config, log, limits),
      port,
    );
    // The hourly retention run follows the clock of the system, and would write while a test counts rows. So does the run at the
    // start, which is waited for.
    for (const job of app.get(SchedulerRegistry).getCronJobs().values()) await job.stop();
    await app.get(RetentionJob).whenIdle();
    // The service starts a read for its warnings while it starts, and callers share a running read. This call waits for its end, so
    // that no test gets warnings from before its own changes.
    await app.get(WarningsService).readWarnings();
    const server = app.getHttpServer();
    // Node's client notices the end of an idle connection late if the event loop was stalled, and the client of a test shares
    // the loop with the service: the service must not close an idle connection while a request on it is being sent.
    server.keepAliveTimeout = IDLE_CONNECTION_TIMEOUT_MS;
    const address = server.address() as { port: number };
    // If the URL has several hosts, this pool uses the first; a test of several hosts uses connections of its own.
    const database = new pg.Pool({ connectionString: hostUrls(databaseUrl)[0]!, max: 4 });
    database.on('error', ignore);
    const url = `http://127.0.0.1:${address.port}`;
    const service = new Service(url, databaseUrl, dataDir, app, clock, logged, database);
    service.#closing.push(
      () => service.app.close(),
      () => database.end(),
    );
    if (created) service.#closing.push(created.drop);
    if (!options.dataDir) service.#closing.push(() => rm(dataDir, { recursive: true, force: true }));
    afterThisFile(() => service.close());
    return service;
  }

  close(): Promise<void> {
    return profiled('closing a service', async () => {
      // If a part cannot be closed, it stays in the list, and a second call tries again.
      for (; this.#closing[0]; this.#closing.shift()) await this.#closing[0]();
      // The variables of a test file stay in memory, and an application holds 2 MB.
      this.opened = undefined;
    });
  }

  /** Executes a query in the database of the service. @returns its rows */
  async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.database.query<Row>(text, values)).rows;
  }

  /** Makes a request over the socket, and checks the response against docs/openapi.yaml. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return call(this.url, method, path, body, headers);
  }

  /** Issues a license, by default for one machine. */
  async issue(wanted: Partial<NewLicense> = {}): Promise<IssuedLicense> {
    const email = wanted.email ?? 'ada@example.com';
    return { ...(await this.app.get(LicensesService).issue({ ...wanted, email }, AUDIT_CONTEXT)), email };
  }

  /** Issues a license, and activates a machine. */
  async issueActivated(
    wanted: Partial<NewLicense> = {},
  ): Promise<IssuedLicense & { token: string; activation_id: string }> {
    const license = await this.issue(wanted);
    const { json } = await this.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
    return { ...license, token: json.token, activation_id: json.activation.id };
  }

  /** Reads the machines that use a license. */
  activeMachines({ license_id }: { license_id: string | null }) {
    return this.sql<{ id: string; hostname_hint: string | null; machine: string }>(
      `select id, hostname_hint, encode(machine_id, 'hex') as machine from activation
       where license_id = $1 and ended_at is null`,
      [license_id],
    );
  }

  /** Sets the state of the purchase of a license, and creates the purchase if the license has none. */
  async setPurchase(license_id: string, state: PurchaseState, transaction_id = license_id): Promise<void> {
    await this.sql(
      `with made as (insert into purchase (id, transaction_id, state, recorded_on)
         values ($1, $3, $2, '2026-11-20')
         on conflict (id) do update set state = excluded.state returning id)
       update license set purchase_id = made.id from made where license.id = $1`,
      [license_id, state, transaction_id],
    );
  }

  /** Creates a token of a staff member with this role. */
  async staffToken(role: Role = 'support', email = 'grace@example.com'): Promise<string> {
    await this.app.get(StaffService).ensure(email, role, AUDIT_CONTEXT);
    return (await this.app.get(StaffTokensService).create(email, AUDIT_CONTEXT)).token;
  }

  async setLicense(id: string, change: LicenseChange): Promise<void> {
    await this.app.get(LicensesService).set(id, change, AUDIT_CONTEXT);
  }

  /** Activates the machine whose machine id is derived from this name. */
  async activate(
    license: { license_key: string; email: string },
    machine = 'a machine',
    more: Record<string, unknown> = {},
  ): Promise<Answer> {
    return this.call('POST', '/v1/activate', activation(license, machine, more));
  }

  async heartbeat(token: string, more: Record<string, unknown> = {}): Promise<Answer> {
    return this.call('POST', '/v1/heartbeat', { token, app_version: '3.2.0', ...more });
  }
}

/** Runs a function with the request time limits of production, for a test of these limits. */
export async function withLimitsOfProduction<Result>(
  { app }: Service,
  work: () => Promise<Result>,
): Promise<Result> {
  const { options } = poolOf(app.get(DataSource));
  const { connectionTimeoutMillis } = options;
  options.connectionTimeoutMillis = LIMITS_OF_PRODUCTION.connection;
  try {
    return await withLimits(LIMITS_OF_PRODUCTION, work);
  } finally {
    options.connectionTimeoutMillis = connectionTimeoutMillis;
  }
}

/** Repeats a call while it gets 503, as a client does. A computer that stalls can cause such responses. */
export async function retryWhileUnavailable(work: () => Promise<Answer>): Promise<Answer> {
  for (const began = performance.now(); performance.now() - began < MAX_WAIT_MS;) {
    const answer = await work();
    if (answer.status !== 503) return answer;
  }
  throw new Error('Every attempt was answered with 503.');
}

/** The body of an activation. */
export function activation(
  { license_key, email }: { license_key: string; email: string },
  machine = 'a machine',
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return { license_key, email, machine_id: machineId(machine), app_version: '3.2.0', ...more };
}

export function machineId(name: string): string {
  return hash('sha256', name);
}

/** Makes a request to any service, and checks the response as `Service.call` does. A string or buffer is sent unchanged. */
export async function call(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isSentUnchanged = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(base + path, {
    method,
    redirect: 'manual',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: isSentUnchanged ? (body as string | undefined) : JSON.stringify(body),
  }).catch(throwWithCause);
  const text = await response.text();
  const responseHeaders = Object.fromEntries(response.headers);
  const violations = validateAnswer(method, path, response.status, responseHeaders, text);
  if (violations.length > 0) {
    throw new Error(
      `${method} ${path} ${response.status} is not what docs/openapi.yaml says: ${violations.join('; ')}`,
    );
  }
  const isJson = /json/.test(responseHeaders['content-type'] ?? '');
  return {
    status: response.status,
    headers: responseHeaders,
    cookies: response.headers.getSetCookie(),
    text,
    json: isJson && text ? JSON.parse(text) : undefined,
  };
}

/** Adds the cause to the message of a failed request, because a report of a failed test shows the message only. */
function throwWithCause(error: Error): never {
  const { code, message } = (error.cause ?? {}) as { code?: string; message?: string };
  error.message += `: ${code ?? message}`;
  throw error;
}

/** Whether the connection of a `fetch` broke, before the response (`fetch failed`) or within it (`terminated`). */
export const isConnectionLost = (error: unknown): boolean =>
  /^(fetch failed|terminated)\b/.test((error as Error).message);
