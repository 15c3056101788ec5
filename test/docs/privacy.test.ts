import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Config } from '../../src/core/config.js';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { privacyAsMarkdown } from '../../src/monitoring/privacy/privacy-docs.js';
import { EXEMPT_TABLES, createRetentionPolicy } from '../../src/retention/policy.js';

const { taxRetentionYears } = new Config({});

test('docs/privacy.md is what the code goes by (npm run docs:privacy writes it)', () => {
  const page = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8');
  expect(page).toBe(privacyAsMarkdown(taxRetentionYears));
});

test('the page has a row for every field and every table, and none that is cut in two', () => {
  const page = privacyAsMarkdown(taxRetentionYears);
  const names = [
    ...TELEMETRY_NAMES,
    ...createRetentionPolicy({ taxRetentionYears }).map(({ table }) => table),
  ];
  for (const name of [...names, ...Object.keys(EXEMPT_TABLES)]) expect(page).toContain(`\n| \`${name}\` | `);
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  for (const row of rows) expect([3, 4]).toContain(row.split('|').length - 1);
  expect(privacyAsMarkdown(7)).toContain('7 years from the end of the year of purchase');
});
