// npm run judges: third-party tools check docs/openapi.yaml, and check the answers of the service against it (CONTRIBUTING.md).
// Each tool checks the document, and then a copy with a fault, which the tool must report.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { jest } from './jest.mjs';
import {
  command,
  ensureBuilt,
  ensureInstalled,
  ensureJudgesInstalled,
  ensureWebBuilt,
  node24,
  root,
  step,
} from './prepare.mjs';

const DOCUMENT = join(root, 'docs/openapi.yaml');
const judgesFolder = join(root, 'judges');
const temporaryFolder = mkdtempSync(join(tmpdir(), 'mooring-judges-'));
process.once('exit', () => rmSync(temporaryFolder, { recursive: true, force: true }));
const connectionsFile = join(temporaryFolder, 'connections');

const env = {
  ...process.env,
  NODE_OPTIONS: `--import=${pathToFileURL(join(judgesFolder, 'loopback-only.mjs'))}`,
  MOORING_CONNECTIONS: connectionsFile,
  // By default Redocly reports each run to its maker and asks for newer versions.
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};
const piped = { stdio: ['ignore', 'pipe', 'pipe'], env };

/**
 * For each tool that checks the document alone, a function that runs it and returns its objection, or an empty text if there is
 * none. Prism, which checks answers, runs in the tests of judges/.
 */
const JUDGES = {
  Spectral: () =>
    lintDocument(
      ['spectral', 'lint', '--ruleset=judges/spectral.yaml', '--fail-severity=warn'],
      ['array-items', withoutItems],
    ),
  Redocly: () =>
    lintDocument(
      ['redocly', 'lint', '--config=judges/redocly.yaml', '--max-problems=1000'],
      ['no-invalid-media-type-examples', withWrongExample],
    ),
  'openapi-typescript': () =>
    compileTypes('openapi-typescript', (document, into) => [
      'openapi-typescript',
      document,
      `--output=${join(into, 'openapi-typescript.ts')}`,
    ]),
  'Hey API': () =>
    compileTypes('hey-api', (document, into) => [
      'openapi-ts',
      `--input=${document}`,
      `--output=${into}`,
      '--plugins=@hey-api/typescript',
      '--no-log-file',
    ]),
};

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  await ensureJudgesInstalled();
  const count = { passed: 0, failed: 0 };
  const print = (name, objection) => {
    console.log(`${name}: ${objection ? `failed\n${objection}` : 'ok'}`);
    count[objection ? 'failed' : 'passed'] += 1;
  };
  for (const [name, judge] of Object.entries(JUDGES)) print(name, await judge());

  const { passed, failed, output } = await jest(['--config=judges/jest.config.js'], piped);
  // The tests print how many answers Prism accepted, such as `Prism accepted 12 problems.`
  const counts = [
    ...output.matchAll(/^\s*Prism accepted (\d+ (?:answers of the service|problems))\.$/gm),
  ].map(([, what]) => what);
  console.log(failed > 0 ? `Prism: failed\n${output.trim()}` : `Prism: ok (${counts.toSorted().join(', ')})`);
  count.passed += passed;
  count.failed += failed;

  print('No connection to another machine', await refusedConnections());
  console.log(`${count.passed} passed, ${count.failed} failed`);
  return count.failed > 0 ? 1 : 0;
});

function runTool([name, ...args]) {
  return step(node24(), [join('judges/node_modules/.bin', name), ...args], piped);
}

/** Runs a linter, which must accept the document, and report the rule for the copy with the fault. */
async function lintDocument(lint, [rule, fault]) {
  const { code, output } = await runTool([...lint, DOCUMENT]);
  if (code !== 0) return output.trim();
  const faulty = await runTool([...lint, await faultyCopy(fault)]);
  return faulty.code !== 0 && faulty.output.includes(rule) ? '' : `It does not report a fault: ${rule}`;
}

/** Generates types, which must compile with their consumer, and must not compile if a type is unknown. */
async function compileTypes(generator, generate) {
  const [correct, faulty] = [join(temporaryFolder, generator), join(temporaryFolder, `${generator}-faulty`)];
  const objection = await compile(generator, correct, generate, DOCUMENT);
  if (objection) return objection;
  const faultyObjection = await compile(generator, faulty, generate, await faultyCopy(withoutType));
  return faultyObjection.includes('consumer.ts')
    ? ''
    : `A type that became unknown compiles: ${faultyObjection}`;
}

async function compile(generator, into, generate, document) {
  const generated = join(into, 'generated');
  mkdirSync(generated, { recursive: true });
  for (const name of ['consumer.ts', 'tsconfig.json'])
    cpSync(join(judgesFolder, 'consumers', name), join(into, name));
  cpSync(join(judgesFolder, 'consumers', `${generator}.ts`), join(into, 'api.ts'));
  writeFileSync(join(into, 'package.json'), '{ "type": "module" }');
  const { code, output } = await runTool(generate(document, generated));
  if (code !== 0) return output.trim();
  const types = await runTool(['tsc', '--project', into]);
  return types.code === 0 ? '' : types.output.trim();
}

/** Writes a copy of the document with a fault. @returns its path */
async function faultyCopy(fault) {
  // Imported here, because ensureInstalled() has to run first.
  const { parse } = await import('yaml');
  const document = parse(readFileSync(DOCUMENT, 'utf8'));
  fault(document);
  const path = join(temporaryFolder, `${fault.name}.json`);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

function withoutItems({ components: { schemas } }) {
  schemas.KeySet.properties.keys.items.properties.key_ops = { type: 'array', const: ['verify'] };
}

function withoutType({ components: { schemas } }) {
  schemas.Token = {};
}

function withWrongExample({ components: { examples } }) {
  examples.Activated.value.license.status = 'lapsed';
}

/**
 * Lists the connections to other machines that loopback-only.mjs refused during the run. If there are none, it tries one, to
 * an address that RFC 5737 reserves for documentation. @returns the list, or an objection if the
 * connection that was tried is not refused; otherwise an empty text
 */
async function refusedConnections() {
  const before = read(connectionsFile);
  if (before) return before;
  await step(node24(), ['--eval', "fetch('http://192.0.2.1/').catch(() => undefined)"], piped);
  return read(connectionsFile)
    ? ''
    : 'judges/loopback-only.mjs did not refuse a connection that was made on purpose.';
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
