import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { describe, expect, test } from '@jest/globals';
import { DISK_IMAGE, Publisher, type Run } from '../../support/processes/cli-harness.js';
import { makeCertificate } from '../../support/certificate.js';
import { createDatabase } from '../../support/harness.js';
import { listen } from '../../support/listen.js';

/** So long that it is sent in several chunks. */
const IMAGE = Buffer.from(DISK_IMAGE.padStart(200_000, '.'));
const certificate = makeCertificate('127.0.0.1');

/** What the server with the images answers. */
let answer: (response: ServerResponse, url: string) => void;
const server = createServer(certificate, ({ url }, response) => answer(response, url!));
let requests: string[] = [];
const database = await createDatabase();
const publisher = await Publisher.at(database.url);
writeFileSync(publisher.file('App.dmg'), IMAGE);
writeFileSync(publisher.file('ca.pem'), certificate.cert);
server.on('request', ({ url }) => requests.push(url!));
const origin = `https://127.0.0.1:${await listen(server)}`;
publisher.writeDocument('next.json', await sign('1.0.0'));

function sign(version: string) {
  const image = ['--dmg', 'App.dmg', '--version', version, '--url', `${origin}/App.dmg`];
  return publisher.json(['manifest', 'sign', ...image, '--first', '--key', 'two.pem']);
}

/** Runs `manifest publish` with NODE_EXTRA_CA_CERTS, so that it trusts the certificate of the server. */
function publish(...args: string[]): Promise<Run> {
  requests = [];
  const env = { NODE_EXTRA_CA_CERTS: publisher.file('ca.pem') };
  return publisher.run(['manifest', 'publish', 'next.json', '--json', ...args], { env });
}

/** Checks that nothing is published. */
const expectNothingLive = async () =>
  expect((await publisher.run(['manifest', 'show'])).stderr).toBe('No manifest is live.\n');

const redirectTo = (location: string) => (response: ServerResponse) =>
  void response.writeHead(302, { location }).end();

describe('publish downloads the image, and publishes nothing if the address', () => {
  const wrong: [
    what: string,
    fault: RegExp | string,
    answer: (response: ServerResponse, url: string) => void,
  ][] = [
    ['has no file', 'answered with status 404', (response) => void response.writeHead(404).end('not here')],
    [
      'has a file of another size',
      'serves another file than the signed one: it has 199999 bytes, not 200000 bytes',
      (response) => void response.end(IMAGE.subarray(1)),
    ],
    [
      'has a larger file and does not say so',
      'serves another file than the signed one: it has more bytes, not 200000 bytes',
      (response) => {
        response.write(IMAGE);
        response.end('more');
      },
    ],
    [
      'has a smaller file and does not say so',
      'serves another file than the signed one: it has 199999 bytes, not 200000 bytes',
      (response) => {
        response.write(IMAGE.subarray(2));
        response.end('.');
      },
    ],
    [
      'has another file of the same size',
      `serves another file than the signed one: its SHA-256 is ${hash('sha256', Buffer.alloc(IMAGE.length))}, not ${hash('sha256', IMAGE)}`,
      (response) => void response.end(Buffer.alloc(IMAGE.length)),
    ],
    [
      'breaks off',
      /^does not answer, or broke off \(\w+\)$/,
      (response) => {
        response.writeHead(200, { 'content-length': String(IMAGE.length) });
        response.write(IMAGE.subarray(0, 100_000), () => response.destroy());
      },
    ],
    [
      'redirects to http',
      'redirects to an address that is not https',
      redirectTo('http://127.0.0.1/App.dmg'),
    ],
    ['redirects without an end', 'redirects more than 5 times', redirectTo('/App.dmg')],
  ];

  test.each(wrong)('%s', async (_what, fault, wrongAnswer) => {
    answer = wrongAnswer;
    const run = await publish();
    expect(run).toMatchObject({ code: 1, stdout: '' });
    const [, found, rest] = /^The download address \S+ (.*)\. (Upload .*)\n$/.exec(run.stderr)!;
    expect(found).toEqual(typeof fault === 'string' ? fault : expect.stringMatching(fault));
    expect(rest).toBe('Upload the signed file there, or skip this check with --no-fetch.');
    await expectNothingLive();
  });

  test('has no file, also with --dry-run', async () => {
    answer = (response) => void response.writeHead(404).end();
    const stderr = expect.stringContaining('answered with status 404');
    expect(await publish('--dry-run')).toMatchObject({ code: 1, stdout: '', stderr });
  });

  test('has a certificate that is not trusted', async () => {
    answer = (response) => void response.end(IMAGE);
    const run = await publisher.run(['manifest', 'publish', 'next.json', '--json']);
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/broke off \([A-Z_]+\)/),
    });
    await expectNothingLive();
  });
});

test('publish accepts the signed file, also after redirects, and --no-fetch requests nothing', async () => {
  answer = (response, url) =>
    url === '/App.dmg' ? redirectTo(`${origin}/mirror`)(response) : void response.end(IMAGE);
  expect((await publish('--dry-run')).json).toMatchObject({ next: { version: '1.0.0' } });
  expect(requests).toEqual(['/App.dmg', '/mirror']);
  answer = (response) => void response.writeHead(404).end();
  expect((await publish('--dry-run', '--no-fetch')).json).toMatchObject({ next: { version: '1.0.0' } });
  expect(requests).toEqual([]);
  answer = (response) => void response.end(IMAGE);
  // The public address of the tests serves nothing.
  expect(await publish()).toMatchObject({ code: 1, json: { version: '1.0.0', served: false } });
  expect(requests).toEqual(['/App.dmg']);
});
