// npm run docs:privacy: writes the tables of docs/privacy.md from the tables of the code, which the build contains.
import { readFileSync, writeFileSync } from 'node:fs';
import { command, ensureBuilt, ensureInstalled } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const { updatePrivacyPage } = await import('../dist/monitoring/privacy/privacy-docs.js');
  const page = new URL('../docs/privacy.md', import.meta.url);
  writeFileSync(page, updatePrivacyPage(readFileSync(page, 'utf8'), 10));
  return 0;
});
