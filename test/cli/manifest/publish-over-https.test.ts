import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { describe, expect, test } from '@jest/globals';
import type { SignedManifest } from '../../../src/keys/manifests/signed-manifest.js';
import {
  inDays,
  Publisher,
  PUBLISH,
  UNREACHABLE_URL,
  signArgs,
} from '../../support/processes/cli-harness.js';
import { makeCertificate } from '../../support/certificate.js';
import { FakeClock, Service } from '../../support/harness.js';
import { startFakeServer } from '../../manifest/fake-manifest-server.js';
import { listen } from '../../support/listen.js';

const publisher = await Publisher.at(UNREACHABLE_URL);
const service = await Service.start({
  // The publisher signs in a process of its own, with the clock of the machine.
  clock: new FakeClock(new Date()),
  environment: { MANIFEST_PUBLIC_KEYS: `${publisher.publicKeyOfOne},${publisher.publicKeyOfTwo}` },
});
const STAFF_TOKEN = await service.staffToken('admin', 'grace@example.com');
// The machine of the publisher: it knows the address of the service, and no database.
Object.assign(publisher.env, {
  PUBLIC_URL: service.url,
  STAFF_TOKEN,
  DATABASE_URL: undefined,
  DATA_DIR: '/nonexistent',
});
const first: SignedManifest = await publisher.json(signArgs('1.0.0', '--first'));
publisher.writeDocument('first.json', first);

const publish = (file: string, args: string[] = [], env: Record<string, string | undefined> = {}) =>
  publisher.run([...PUBLISH, file, '--json', ...args], { env });
const readLive = async () => (await service.call('GET', '/v1/manifest')).json;

describe('with STAFF_TOKEN, publish refuses, and publishes nothing', () => {
  const cases: [
    code: 1 | 2,
    sentence: string | RegExp,
    args: string[],
    env: Record<string, string | undefined>,
  ][] = [
    [
      2,
      '--as has no use with STAFF_TOKEN: the audit trail names the owner of the token.',
      ['--as', 'ada'],
      {},
    ],
    [
      2,
      'STAFF_TOKEN must be a token of `mooring staff token`, which begins with mst_.',
      [],
      { STAFF_TOKEN: 'x' },
    ],
    [2, /^With STAFF_TOKEN, PUBLIC_URL must be https, /, [], { PUBLIC_URL: 'http://licensing.example.com' }],
    [2, /^NODE_TLS_REJECT_UNAUTHORIZED must not be 0: /, [], { NODE_TLS_REJECT_UNAUTHORIZED: '0' }],
    [2, /^MANIFEST_PUBLIC_KEYS must be given, as on the server/, [], { MANIFEST_PUBLIC_KEYS: undefined }],
    [1, /^STAFF_TOKEN is not valid \(any more\): /, [], { STAFF_TOKEN: `mst_${'A'.repeat(43)}` }],
    [1, /\/support\/api\/manifests does not answer \([^()]+\)\. /, [], { PUBLIC_URL: UNREACHABLE_URL }],
    [1, 'This manifest withdraws nothing: no manifest is live.', ['--withdraw'], {}],
  ];
  test.each(cases)('with exit code %d: %s', async (code, sentence, args, env) => {
    const run = await publish('first.json', args, env);
    expect(run).toMatchObject({ code, stdout: '' });
    expect(run.stderr).toMatch(/^[^\n]+\n$/);
    expect(run.stderr.trim()).toEqual(
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    );
    expect((await readLive()).code).toBe('no_version_published');
  });

  test('for a person with the role support', async () => {
    const STAFF_TOKEN = await service.staffToken('support', 'ada@example.com');
    expect(await publish('first.json', [], { STAFF_TOKEN })).toMatchObject({
      code: 1,
      stderr: 'STAFF_TOKEN belongs to a person with the role support: publishing needs an admin.\n',
    });
  });

  test.each([undefined, ' '])(
    'without PUBLIC_URL (%j), and sends nothing to the default address',
    async (PUBLIC_URL) => {
      const listener = await startFakeServer((response) => {
        response.end();
      });
      const { port: PORT } = new URL(listener.url);
      expect(await publish('first.json', [], { PUBLIC_URL, PORT })).toMatchObject({
        code: 2,
        stdout: '',
        stderr: 'With STAFF_TOKEN, PUBLIC_URL must be given: the token is sent there.\n',
      });
      expect(listener.requestCount).toBe(0);
    },
  );

  test.each([
    ['of an unknown authority', '127.0.0.1', 2, 'DEPTH_ZERO_SELF_SIGNED_CERT', /in NODE_EXTRA_CA_CERTS\.$/],
    ['that has expired', '127.0.0.1', 0, 'CERT_HAS_EXPIRED', /: correct it, or the address\.$/],
    ['for another name', 'example.com', 2, 'ERR_TLS_CERT_ALTNAME_INVALID', /: correct it, or the address\.$/],
  ])('a certificate %s, and names the cause', async (_what, name, days, cause, remedy) => {
    const certificate = makeCertificate(name, days);
    const isTrusted = !cause.includes('SELF_SIGNED');
    const trust = isTrusted ? { NODE_EXTRA_CA_CERTS: publisher.file('ca.pem') } : {};
    writeFileSync(publisher.file('ca.pem'), certificate.cert);
    const PUBLIC_URL = `https://127.0.0.1:${await listen(createServer(certificate))}`;
    const run = await publish('first.json', [], { PUBLIC_URL, ...trust });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    const sentence = run.stderr.trimEnd();
    expect(sentence).toContain(`${PUBLIC_URL}/support/api/manifests has a certificate `);
    expect(sentence).toContain(`(${cause}): `);
    expect(sentence).toMatch(remedy);
  });

  test('a manifest that no trusted key signed, before it is sent', async () => {
    const env = { MANIFEST_PUBLIC_KEYS: publisher.publicKeyOfOne, PUBLIC_URL: UNREACHABLE_URL };
    const run = await publish('first.json', [], env);
    expect(run).toMatchObject({ code: 1, stderr: 'The manifest is signed by no trusted key.\n' });
  });
});

describe('without PUBLIC_URL and a database', () => {
  const env = { PUBLIC_URL: undefined };
  test.each([
    ['sign', signArgs('1.1.0')],
    ['refresh', ['manifest', 'refresh', '--key', 'two.pem']],
    ['withdraw', ['manifest', 'withdraw', '--back-to', 'first.json', '--key', 'two.pem']],
    ['show', ['manifest', 'show']],
  ])('%s says that PUBLIC_URL must be given', async (_name, args) => {
    expect(await publisher.run(args, { env: { ...env, PORT: new URL(service.url).port } })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'PUBLIC_URL must be given: the live manifest is read from there.\n',
    });
  });

  test('a first or given manifest needs neither, and a wrong STAFF_TOKEN stops only publish', async () => {
    const settings = { env: { ...env, STAFF_TOKEN: 'x' } };
    expect((await publisher.json(signArgs('1.0.0', '--first'), settings)).signatures).toHaveLength(1);
    for (const args of [
      ['manifest', 'refresh', '--previous', 'first.json', '--key', 'two.pem', '--expires', inDays(200)],
      ['manifest', 'verify', 'first.json'],
      ['manifest', 'show', 'first.json'],
    ])
      expect((await publisher.run(args, settings)).code).toBe(0);
  });
});

test('with STAFF_TOKEN a version is published and withdrawn without a database; the audit trail names the owner', async () => {
  const dryRun = await publish('first.json', ['--dry-run']);
  expect(dryRun).toMatchObject({ code: 0, json: { live: null, next: { version: '1.0.0' } } });
  expect((await readLive()).code).toBe('no_version_published');

  const published = await publish('first.json');
  expect(published).toMatchObject({ code: 0, json: { version: '1.0.0', sequence: 1, served: true } });
  expect(published.stderr).toBe(`${service.url}/v1/manifest serves the published manifest.\n`);
  expect(await readLive()).toEqual(first);
  expect(await publisher.json(['manifest', 'show'])).toEqual(first);

  publisher.writeDocument('second.json', await publisher.json(signArgs('1.1.0')));
  const changes = (await publish('second.json', ['--dry-run'])).json.changes as { member: string }[];
  expect(changes).toContainEqual({ member: 'version', from: '1.0.0', to: '1.1.0' });
  expect(await publish('second.json')).toMatchObject({ code: 0, json: { version: '1.1.0' } });
  expect(await publish('first.json')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'Another manifest is live now (sequence 2, version 1.1.0): sign again on top of it.\n',
  });

  const back = await publisher.json(['manifest', 'withdraw', '--back-to', 'first.json', '--key', 'two.pem']);
  publisher.writeDocument('back.json', back);
  const withdrawn = await publish('back.json', ['--withdraw']);
  expect(withdrawn).toMatchObject({ code: 0, json: { version: '1.0.0', sequence: 3 } });
  expect(withdrawn.stderr).toMatch(/^Versions above 1\.0\.0 are withdrawn: /);
  const events = await service.sql(
    "select actor, action from audit_event where action like 'manifest.%' order by at, id",
  );
  const actor = 'grace@example.com';
  expect(events).toEqual([
    { actor, action: 'manifest.publish' },
    { actor, action: 'manifest.publish' },
    { actor, action: 'manifest.withdraw' },
  ]);
});

test('a manifest can be sent as it is with curl, and one of over 256 KiB is refused', async () => {
  const authorization = `Bearer ${publisher.env['STAFF_TOKEN']}`;
  const send = (body: unknown, query = '') =>
    service.call('POST', `/support/api/manifests${query}`, body, { authorization });
  const refresh = await publisher.json(['manifest', 'refresh', '--key', 'two.pem', '--expires', inDays(200)]);
  const sent = await send(refresh, '?dry_run=true');
  expect(sent).toMatchObject({ status: 200, json: { live: { sequence: 3 }, next: { sequence: 4 } } });
  const { live, next } = (await send(refresh)).json;
  expect([live.sequence, next.sequence]).toEqual([3, 4]);
  for (const query of ['', '?dry_run=true', '?withdraw=true'])
    expect(await send(refresh, query)).toMatchObject({ status: 200, json: { live: next, next } });
  expect(await service.sql("select count(*)::int from audit_event where action like 'manifest.%'")).toEqual([
    { count: 4 },
  ]);
  const reason =
    'This manifest is already live with other signatures: sign the version again with manifest refresh.';
  const other = { key_id: 'A'.repeat(43), signature: refresh.signature };
  expect(await send({ ...refresh, signatures: [...refresh.signatures, other] })).toMatchObject({
    status: 422,
    json: { code: 'manifest_refused', reason, detail: reason },
  });
  for (const key_id of ['other', '\0', '\ud800']) {
    const { signatures } = refresh as { signatures: { key_id: string; signature: string }[] };
    const document = { ...refresh, signatures: [...signatures, { ...signatures[0], key_id }] };
    expect((await send(document)).json.code).toBe('manifest_refused');
  }
  expect((await send({ ...refresh, note: 'x'.repeat(257 * 1024) })).json.code).toBe('body_too_large');
  expect((await send(refresh, '?dry_run=yes')).json.errors).toEqual([
    { pointer: '/dry_run', detail: 'must be one of true, false' },
  ]);
  const later = await publisher.json(['manifest', 'refresh', '--key', 'two.pem', '--expires', inDays(230)]);
  expect(await send(later, '?dryrun=true')).toMatchObject({
    status: 422,
    json: { errors: [{ pointer: '', detail: 'may only have the parameters withdraw, dry_run' }] },
  });
  expect((await send(later, '?dry_run=true')).json.live).toEqual(next);
});
