// npm run docs:api-types: writes src/http/responses/api-types.ts from docs/openapi.yaml.
import { readFileSync, writeFileSync } from 'node:fs';
import { apiTypes } from './api-types.mjs';
import { command, ensureInstalled } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  const { parse } = await import('yaml');
  const document = parse(readFileSync(new URL('../docs/openapi.yaml', import.meta.url), 'utf8'));
  writeFileSync(new URL('../src/http/responses/api-types.ts', import.meta.url), apiTypes(document));
  return 0;
});
