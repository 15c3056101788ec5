// npm run docs:privacy: generates the tables of docs/privacy.md (telemetry fields, retention periods) from the code. It imports
// the build.
import { readFileSync, writeFileSync } from 'node:fs';
import { command, ensureBuilt, ensureInstalled } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const { Config } = await import('../dist/core/config.js');
  const { updatePrivacyPage } = await import('../dist/monitoring/privacy/privacy-docs.js');
  // The page states the default of TAX_RETENTION_YEARS.
  const { taxRetentionYears } = new Config({});
  const page = new URL('../docs/privacy.md', import.meta.url);
  writeFileSync(page, updatePrivacyPage(readFileSync(page, 'utf8'), taxRetentionYears));
  return 0;
});
