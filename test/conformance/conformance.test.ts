import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { runChecks, type Result } from '../../conformance/check.ts';
import { CONTRACT } from '../../conformance/contract.ts';
import { Deployment } from '../../conformance/deployment.ts';
import { readOptions, UsageError } from '../../conformance/options.ts';
import { table } from '../../conformance/table.ts';
import { ACTIVATION_FAULTS } from './faults-activation.js';
import { HEARTBEAT_FAULTS } from './faults-heartbeat.js';
import { MANIFEST_FAULTS } from './faults-manifest.js';
import { REFUSAL_FAULTS } from './faults-refusals.js';
import { FaultyService } from './faulty-service.js';
import { Service } from '../support/harness.js';
import { publish } from '../manifest/publish.js';
import { freePort } from '../support/processes/server-process.js';
import { serve } from '../support/listen.js';

/** The script that npm runs, and the program that the script runs. */
const SCRIPT = fileURLToPath(new URL('../../scripts/conformance.mjs', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../../conformance/run.ts', import.meta.url));
const TITLES = CONTRACT.flatMap(({ checks }) => checks.map(({ title }) => title));
const FAULTS = [...ACTIVATION_FAULTS, ...HEARTBEAT_FAULTS, ...MANIFEST_FAULTS, ...REFUSAL_FAULTS];
const HTML = '<!doctype html><title>Welcome</title><h1>It works!</h1>';

const service = await Service.start();
const license = await service.issue({ machines_allowed: 1 });
await publish(service, '1.0.0');
await publish(service, '1.1.0', '2026-06-01T00:00:00Z');
await publish(service, '1.2.0', '2027-06-01T00:00:00Z');

const faulty = new FaultyService(service.url, { license_key: license.license_key, email: license.email });

const runAll = (
  url: string,
  { license_key, email }: Readonly<Record<'license_key' | 'email', string>> = license,
) => runChecks(new Deployment(url, { license_key, email }), CONTRACT);
const titles = (results: Result[], result: Result['result']) =>
  results.filter((each) => each.result === result).map(({ title }) => title);

async function run(program: string, ...args: string[]) {
  const flags = ['--disable-warning=ExperimentalWarning', program, ...args];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code: code as number, stdout, stderr };
}
const optionsFor = (url: string, { license_key, email }: { license_key: string; email: string } = license) =>
  ['--url', url, '--license-key', license_key, '--email', email] as const;

describe('a service that follows the contract', () => {
  test('passes all checks, also in a second run, which uses the activation of the first', async () => {
    const results = [...(await runAll(service.url)), ...(await runAll(service.url))];
    expect(results.filter(({ result }) => result !== 'holds')).toEqual([]);
    const activations = await service.sql(
      'select hostname_hint, app_version from activation where license_id = $1',
      [license.license_id],
    );
    expect(activations).toEqual([{ hostname_hint: 'Conformance check', app_version: '0.0.0.1' }]);
  });

  test('receives at most 80 requests in a run, and stores two blocks of telemetry', async () => {
    await service.sql('truncate telemetry_inbox');
    let requests = 0;
    const count = () => (requests += 1);
    service.app.getHttpServer().on('request', count);
    await runAll(service.url);
    service.app.getHttpServer().off('request', count);
    expect(requests).toBeGreaterThan(40);
    expect(requests).toBeLessThanOrEqual(80);
    expect(await service.sql('select 1 from telemetry_inbox')).toHaveLength(2);
  });

  test('passes all checks although PUBLIC_URL contains a word that the checks send, a download URL has no path, and the address has ß', async () => {
    const unusual = await Service.start({ environment: { PUBLIC_URL: 'https://conformance.example.com' } });
    await publish(unusual, '1.0.0', null, 'https://dl.example.com?file=App.dmg');
    const results = await runAll(unusual.url, await unusual.issue({ email: 'straße@example.com' }));
    expect(results.filter(({ result }) => result !== 'holds')).toEqual([]);
    await unusual.close();
  });

  test('is reported by the command with a table and exit code 0', async () => {
    const { code, stdout, stderr } = await run(SCRIPT, ...optionsFor(`${service.url}/`));
    expect(stderr).toMatch(/^This activates one machine of the license/);
    expect(stdout).toContain(`\n  ✓ ${TITLES[0]}\n`);
    expect(stdout).toMatch(new RegExp(`\n\n${TITLES.length} hold, 0 fail, 0 not checked\n$`));
    expect(stdout + stderr).not.toContain(license.license_key);
    expect(code).toBe(0);
  });

  test('is reported by the command in JSON', async () => {
    const { code, stdout } = await run(PROGRAM, ...optionsFor(service.url), '--json');
    const { checks, ...rest } = JSON.parse(stdout) as { checks: Result[] };
    expect([code, rest]).toEqual([0, { url: service.url, holds: TITLES.length, fails: 0, not_checked: 0 }]);
    expect(checks[0]).toEqual({
      group: 'Health',
      rule: 'docs/openapi.yaml',
      title: TITLES[0],
      result: 'holds',
      why: null,
    });
  });
});

/** The sentence with which the command refuses arguments; null if it takes them. */
function refusalOf(args: readonly string[]): string | null {
  try {
    readOptions(args);
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

test.each(['https://x/?q=1', 'https://x/a?', 'https://x/a#', 'https://u@x'])(
  'the command refuses the base URL %s',
  (url) => expect(refusalOf(optionsFor(url))).toBe('--url must have no user, no query and no fragment.'),
);

describe('rules that cannot be decided are not checked, and do not count as failed', () => {
  test('with a license at its machine limit, the refusal is checked, and rules that need an activation are not', async () => {
    const usedUp = await service.issue({ machines_allowed: 1 });
    await service.activate(usedUp);
    const results = await runAll(service.url, usedUp);
    expect(titles(results, 'fails')).toEqual([]);
    const notChecked = results.filter(({ result }) => result === 'not_checked');
    expect(notChecked.length).toBeGreaterThan(30);
    expect(new Set(notChecked.map(({ why }) => why))).toEqual(new Set(['the license has no machine left']));
    expect(titles(results, 'holds')).toContain(
      'A machine above the limit is refused with 409, the numbers of machines, portal_url and release_url',
    );
  });

  test('with a license for two machines, the machine limit is not checked; with a revoked license no rule fails', async () => {
    const forTwo = await service.issue({ machines_allowed: 2 });
    const results = await runAll(service.url, forTwo);
    expect([titles(results, 'fails'), titles(results, 'not_checked')]).toEqual([
      [],
      ['A machine above the limit is refused with 409, the numbers of machines, portal_url and release_url'],
    ]);
    await service.setLicense(forTwo.license_id, { staff_status: 'revoked' });
    expect(titles(await runAll(service.url, forTwo), 'fails')).toEqual([]);
  });

  test('without a published version, only the rules of the manifest are not checked', async () => {
    const bare = await Service.start();
    const results = await runAll(bare.url, await bare.issue());
    const notChecked = results.filter(({ result }) => result !== 'holds');
    expect(new Set(notChecked.map(({ why }) => why))).toEqual(new Set(['no version is published']));
    expect(notChecked.map(({ group }) => group)).toEqual([
      ...Array.from({ length: 8 }, () => 'Manifest'),
      ...Array.from({ length: 8 }, () => 'Signed content of the manifest'),
    ]);
    await bare.close();
  });

  test('with tokens that are not JWS, the signature of a token is not checked', async () => {
    const deployment = faulty.with((exchange) => {
      if (exchange.path === '/v1/activate' && exchange.status < 300)
        exchange.body = Buffer.from(exchange.body.toString().replace(/"token":"[^"]*"/, '"token":"opaque"'));
    });
    const results = await runChecks(deployment, CONTRACT);
    const [tokenCheck] = results.filter(({ title }) => title.startsWith('A token that is a JWS'));
    expect(tokenCheck).toMatchObject({
      result: 'not_checked',
      why: 'the contract leaves the format of a token open, and this one is not a JWS',
    });
  });
});

describe('a service with one fault:', () => {
  const failedTitles = new Set<string>();

  test.each(FAULTS)(
    'if it %s, exactly the checks of the broken rules fail',
    async (_what, createFault, ...expectedTitles) => {
      const results = await runChecks(faulty.with(createFault()), CONTRACT);
      const fails = titles(results, 'fails');
      for (const title of fails) failedTitles.add(title);
      expect(fails.toSorted()).toEqual(expectedTitles.toSorted());
      // The reason of a failure ends with a full stop, so no stack trace follows.
      for (const { result, why } of results) if (result === 'fails') expect(why).toMatch(/^[\w/].*\.$/s);
    },
  );

  test('each check has its own title, and fails for at least one fault', () => {
    expect(TITLES.filter((title) => !failedTitles.has(title))).toEqual([]);
    expect(new Set(TITLES).size).toBe(TITLES.length);
  });
});

describe('a server without the client API', () => {
  test('fails with exit code 1, and without a crash, if it answers HTML to each request', async () => {
    const url = await serve((_request, response) => response.end(HTML));
    const { code, stdout, stderr } = await run(PROGRAM, ...optionsFor(url), '--json');
    const { fails, checks } = JSON.parse(stdout) as { fails: number; checks: Result[] };
    expect([code, stderr]).toEqual([1, expect.not.stringContaining('    at ')]);
    expect(fails).toBeGreaterThan(20);
    expect(titles(checks, 'holds').length).toBeLessThan(5);
    expect(stdout).not.toMatch(/TypeError|undefined|Cannot read/);
  });

  test('fails three checks if it does not answer, and receives no further request', async () => {
    let requests = 0;
    const url = await serve(() => void (requests += 1));
    const timeoutMs = 50;
    const results = await runChecks(new Deployment(url, license, timeoutMs), CONTRACT);
    const reasons = results.map(({ why }) => why);
    expect(titles(results, 'fails')).toHaveLength(3);
    expect(requests).toBeLessThanOrEqual(3);
    expect(reasons[0]).toBe('GET /health/live got no answer: nothing within 0.05 seconds.');
    expect(reasons).toContain('the service no longer answers');
  });

  test('is reported with one sentence and exit code 1 if the connection is refused', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await run(PROGRAM, ...optionsFor(url), '--json');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^GET \/health\/live got no answer: .*ECONNREFUSED.*\n$/);
  });
});

describe('the command', () => {
  const licenseOptions = ['--license-key', 'MOOR_E6S7-Z8KJ-TB3R-QKX6', '--email', 'ada@example.com'];

  test.each([
    ['no arguments', []],
    ['no license', ['--url', 'http://127.0.0.1:9']],
    ['an empty license key', ['--url', 'http://127.0.0.1:9', '--license-key', ' ', '--email', 'a@b.c']],
    ['a URL without a scheme', ['--url', 'license.example.com', ...licenseOptions]],
    ['a URL with another scheme', ['--url', 'ftp://license.example.com', ...licenseOptions]],
    ['an unknown option', ['--url', 'http://127.0.0.1:9', ...licenseOptions, '--fast']],
    ['an option without its value', [...licenseOptions, '--url']],
    ['an argument that is not an option', ['http://127.0.0.1:9', ...licenseOptions]],
  ])('refuses with one sentence %s', (_what, args) => {
    const refusal = refusalOf(args);
    expect(refusal).toMatch(/^[^\n]+\.$/);
    expect(refusal).not.toMatch(/MOOR_/);
  });

  test.each([
    ['an empty standard input', ['--url', 'http://127.0.0.1:9', '--license-key', '-', '--email', 'a@b.c']],
    ['a URL with a user', ['--url', 'http://me:secret@127.0.0.1:9', ...licenseOptions]],
  ])('ends with exit code 2 and the sentence of a refusal for %s', async (_what, args) => {
    const { code, stdout, stderr } = await run(PROGRAM, ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^[^\n]+\. --help lists the options\.\n$/);
    expect(stderr).not.toMatch(/secret|MOOR_/);
  });

  test('--license-key - reads the key from standard input', async () => {
    const given = ['--url', 'http://127.0.0.1:9', '--license-key', '-', '--email', 'ada@example.com'];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, ...given]);
    child.stdin.end('MOOR_E6S7-Z8KJ-TB3R-QKX6\n');
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    // Without a key the exit code would be 2.
    expect([code, stderr]).toEqual([1, expect.stringContaining('got no answer')]);
  });

  test('--help describes what the command does to the license', async () => {
    const { code, stdout } = await run(PROGRAM, '--help');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/activates one machine.*made-up telemetry/s)]);
  });
});

test('a table has a line for each check with the reason below it, and shows a repeated reason only once', () => {
  const resultOf = (title: string, result: Result['result'], why: string | null): Result => {
    return { group: 'Keys', rule: 'docs/contract.md#token-keys', title, result, why };
  };
  const printed = table('http://here', [
    resultOf('The first holds', 'holds', null),
    resultOf('The second fails', 'fails', 'It is not so.'),
    resultOf('The third waits', 'not_checked', 'there is none'),
    resultOf('The fourth waits', 'not_checked', 'there is none'),
  ]);
  expect(printed.split('\n')).toEqual([
    'Conformance of http://here',
    '',
    'Keys  docs/contract.md#token-keys',
    '  ✓ The first holds',
    '  ✗ The second fails',
    '      It is not so.',
    '  – The third waits',
    '      there is none',
    '  – The fourth waits',
    '',
    '1 hold, 1 fail, 2 not checked',
  ]);
});
