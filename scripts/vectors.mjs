// node scripts/vectors.mjs [FOLDER]: generates the vector files that contain signatures: license-tokens.json, manifests.json and
// token-reading.json. The keys are published test keys and Ed25519 is deterministic, so the bytes are the same each time.
// It shares no code with the service or the client, because their code is tested with these vectors.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { manifests } from './vectors/manifests.mjs';
import { tokenReadings } from './vectors/token-reading.mjs';
import { tokens } from './vectors/tokens.mjs';

const folder = argv[2] ?? fileURLToPath(new URL('../test/vectors/', import.meta.url));
for (const [file, content] of Object.entries({
  'license-tokens.json': tokens(),
  'manifests.json': manifests(),
  'token-reading.json': tokenReadings(),
})) {
  const text = await format(JSON.stringify(content, null, 2), { parser: 'json', printWidth: 110 });
  writeFileSync(join(folder, file), text);
}
