// npm run docs:errors: writes docs/errors.md from the catalogue of problems, which the build contains.
import { writeFileSync } from 'node:fs';
import { command, ensureBuilt, ensureInstalled } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const { errorsAsMarkdown } = await import('../dist/http/problems/problem-docs.js');
  writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsAsMarkdown());
  return 0;
});
