// npm run docs:privacy: writes docs/privacy.md from the tables that the code goes by, which the build holds.
import { writeFileSync } from 'node:fs';
import { command, ensureBuilt, ensureInstalled } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const { privacyAsMarkdown } = await import('../dist/monitoring/privacy/privacy-docs.js');
  writeFileSync(new URL('../docs/privacy.md', import.meta.url), privacyAsMarkdown(10));
  return 0;
});
