import { describe, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Computer, DAY, EMAIL, KEY, MACHINE_ID, problem } from './harness.js';

const FOLDER = join(process.cwd(), 'client/src');

async function sources(): Promise<Map<string, string>> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(FOLDER, name), 'utf8')));
  return new Map(names.map((name, i) => [name, texts[i]!]));
}

describe('the sources of the client', () => {
  test('never read the hostname: the word occurs only in hostname_hint', async () => {
    const files = await sources();
    expect(files.size).toBeGreaterThan(10);
    for (const [name, text] of files) {
      expect([name, text.match(/hostname(?!_hint)|computername|scutil|uname/gi)]).toEqual([name, null]);
      expect([name, text.match(/from '(node:)?(os|dns)['/]/g)]).toEqual([name, null]);
    }
  });

  test('import only modules of node and each other', async () => {
    for (const [name, text] of await sources())
      for (const [, from] of text.matchAll(/(?:from|import\() ?'([^']+)'/g))
        expect([name, from]).toEqual([
          name,
          expect.stringMatching(
            /^(node:(child_process|crypto|fs\/promises|https?|path|stream|timers\/promises|util)|\.\/[a-z\d-]+\.js)$/,
          ),
        ]);
  });

  test('have at most 200 lines each', async () => {
    for (const [name, text] of await sources())
      expect([name, text.split('\n').length <= 201]).toEqual([name, true]);
  });

  test('mention process.env only as the default of an option, and for the proxy', async () => {
    const reads = [...(await sources()).values()].flatMap((text) => text.match(/process\.env[^\n]*/g) ?? []);
    // The ends of two lines: the default of `environment` in options.ts, and the proxy in separate-fetch.ts.
    expect(reads).toEqual(['process.env;', 'process.env;']);
  });
});

test('no line of the log contains a key, an e-mail address, a token, a label, a machine id or the address of the service', async () => {
  const computer = await Computer.activated({
    telemetry: () => {
      throw new Error(KEY);
    },
  });
  const answers = [
    () => problem(403, 'token_invalid', 'reactivate'),
    () => problem(422, 'invalid_request', 'fix'),
    () => problem(503, 'unavailable', 'retry'),
    () => Promise.reject(new TypeError(`fetch failed ${EMAIL} ${KEY}`)),
    () => problem(403, 'license_revoked', 'stop', { email: EMAIL }),
  ];
  for (const answer of answers) {
    // The handler returns the function, which makes a new response, or fails, at each call.
    computer.service.answer['/v1/heartbeat'] = () => answer;
    await computer.client.heartbeatNow();
  }
  await computer.restart();
  await computer.advanceTime(DAY);
  expect(computer.log.length).toBeGreaterThan(8);
  for (const secret of [KEY, EMAIL, 'token-', 'Studio', MACHINE_ID, 'license.example'])
    expect(computer.log.join('\n')).not.toContain(secret);
});

test('a heartbeat has three members and four headers, and nothing else', async () => {
  const computer = await Computer.activated();
  await computer.advanceTime(3 * DAY);
  expect(computer.service.heartbeats).not.toEqual([]);
  for (const { body, headers } of computer.service.heartbeats) {
    expect(Object.keys(body!)).toEqual(['token', 'app_version', 'telemetry']);
    expect(Object.keys(headers).toSorted()).toEqual(['accept', 'connection', 'content-type', 'user-agent']);
  }
});
