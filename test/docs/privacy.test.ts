import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Config } from '../../src/core/config.js';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { privacyParts, updatePrivacyPage } from '../../src/monitoring/privacy/privacy-docs.js';
import { SMALL_CELL_THRESHOLD } from '../../src/telemetry/suppress-small-cells.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../src/retention/policy.js';

const { taxRetentionYears } = new Config({});

const page = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8');

test('the tables of docs/privacy.md are generated from the code (npm run docs:privacy writes them)', () => {
  expect(page).toBe(updatePrivacyPage(page, taxRetentionYears));
  expect(updatePrivacyPage(page.replace('Anonymous telemetry', 'Telemetry'), taxRetentionYears)).toBe(page);
  expect(() => updatePrivacyPage(page.replace('<!-- fields -->', ''), taxRetentionYears)).toThrow(
    /no markers for fields/,
  );
});

test('the page has a row for every field and every table, and each row has two to four cells', () => {
  const names = [
    ...TELEMETRY_NAMES,
    ...createRetentionPolicy({ taxRetentionYears }).map(({ table }) => table),
  ];
  for (const name of [...names, ...Object.keys(EXEMPT_TABLES)]) expect(page).toContain(`\n| \`${name}\` | `);
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  for (const row of rows) expect([3, 4, 5]).toContain(row.split('|').length - 1);
  expect(page).toContain(`from ${SMALL_CELL_THRESHOLD} heartbeats`);
  expect(privacyParts(7)['retention']).toContain(
    '7 years from the end of the year in which they were reported',
  );
});
