import { describe, expect, test } from '@jest/globals';
import { formatPeriod } from '../../src/monitoring/privacy/privacy-data.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../src/retention/policy.js';
import { RetentionHarness } from './harness.js';

const RULES = createRetentionPolicy({ taxRetentionYears: 10 });

const harness = await RetentionHarness.start();

/** All tables and materialized views in all schemas but those of PostgreSQL, without partitions. */
async function tables(): Promise<string[]> {
  const rows = await harness.sql<{ name: string }>(
    `select case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm', 'f') and not c.relispartition
       and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** The differences between the tables of the policy and those of the database. */
async function differences(): Promise<string[]> {
  const existing = await tables();
  const withRule = RULES.map(({ table }) => table);
  const exempt = Object.keys(EXEMPT_TABLES);
  const listed = [...withRule, ...exempt];
  return [
    ...existing.filter((table) => !listed.includes(table)).map((table) => `${table}: has no rule`),
    ...listed.filter((table) => !existing.includes(table)).map((table) => `${table}: does not exist`),
    ...listed
      .filter((table, index) => listed.indexOf(table) !== index)
      .map((table) => `${table}: is listed twice`),
  ];
}

describe('the policy', () => {
  test('lists each table of the database exactly once, and no other', async () => {
    expect(await differences()).toEqual([]);
    expect(await tables()).toEqual(expect.arrayContaining(['telemetry', 'graphile_worker._private_jobs']));
  });

  test.each([
    ['create table planted (id uuid)', 'drop table planted', ['planted: has no rule']],
    ['create schema s create table planted (id uuid)', 'drop schema s cascade', ['s.planted: has no rule']],
    [
      'create materialized view planted as select * from license',
      'drop materialized view planted',
      ['planted: has no rule'],
    ],
    [
      'alter table staff rename to people',
      'alter table people rename to staff',
      ['people: has no rule', 'staff: does not exist'],
    ],
    [
      `create table telemetry_2001_01 partition of telemetry for values from ('2001-01-01') to ('2001-02-01')`,
      'drop table telemetry_2001_01',
      [],
    ],
  ])('is compared with all tables, but not with partitions, after `%s`', async (plant, undo, found) => {
    await harness.sql(plant);
    expect(await differences()).toEqual(found);
    await harness.sql(undo);
  });

  test('has valid SQL in each rule, and a text that states the period of the rule', async () => {
    const { deleted } = await harness.run('2026-11-20T00:05:00Z');
    expect(deleted).toEqual({});
    for (const { table, period, months, days } of RULES) {
      const listed = table === 'purchase' ? `${(months ?? 0) / 12} years` : `${months} months`;
      if (months !== undefined)
        expect({ table, period: formatPeriod(period, months, 'en') }).toEqual({
          table,
          period: expect.stringContaining(listed),
        });
      // The text allows a day for the deletion of a row that is due.
      else if (days !== undefined)
        expect({ table, isStated: period.includes(`${days + 1} days`) }).toEqual({ table, isStated: true });
      else expect({ table, period }).toEqual({ table, period: 'until they expire, at most a day longer' });
    }
  });

  test('keeps purchases for TAX_RETENTION_YEARS', () => {
    const rule = createRetentionPolicy({ taxRetentionYears: 7 }).find(({ table }) => table === 'purchase');
    expect([rule!.months, formatPeriod(rule!.period, 84, 'en').slice(0, 7)]).toEqual([84, '7 years']);
  });
});

/** Finds the comments that state a retention period. Only the policy may state one. */
async function findStatedPeriods(): Promise<string[]> {
  const rows = await harness.sql<{ comment: string }>(
    `select description as comment from pg_description where classoid = 'pg_class'::regclass and objoid in
       (select oid from pg_class where relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace))`,
  );
  const texts = rows.map(({ comment }) => comment);
  return texts.filter((text) => /\bkept (with|for|until|\d)/i.test(text));
}

describe('the comments in the database', () => {
  test('state no retention period', async () => {
    expect(await findStatedPeriods()).toEqual([]);
    await harness.sql(`comment on column activation.app_version is 'A version. Kept 13 months.'`);
    expect(await findStatedPeriods()).toEqual(['A version. Kept 13 months.']);
  });
});
