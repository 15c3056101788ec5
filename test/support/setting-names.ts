import { readFileSync } from 'node:fs';

const read = (file: string) => readFileSync(new URL(`../../src/core/${file}`, import.meta.url), 'utf8');

/** The names of all settings that the service reads, in the order of its source. */
export function settingNames(): Set<string> {
  const source = read('config.ts') + read('brand.ts') + read('event-endpoint.ts');
  const reads = source.matchAll(/\b(?:text|parse|integer|matching|oneOf|read\w*)\(\s*'([A-Z_0-9]+)'/g);
  return new Set([...reads].map(([, name]) => name!));
}
