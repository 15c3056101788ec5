// npm run demo: shows what happens to a license, from its issue to the move to a new machine. It starts a service on a free
// port with a temporary folder, uses the reference client and a support token, and prints each request and answer.
import { createHash, createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, ensureBuilt, ensureClientBuilt, ensureInstalled } from './prepare.mjs';
import { withRequestLog, print, printTitle } from './demo-output.mjs';
import { runMooring, withSampleService } from './sample-service.mjs';

const TELEMETRY = { os_version: 'macOS 26.1', mac_model: 'Mac15,3', arch: 'arm64', camera_count: 4 };
const CRASH = {
  crash_kind: 'native',
  crash_signal: 'SIGSEGV',
  crash_label: 'libonnxruntime',
  crash_frame: 'app.detector.run:120',
  crash_sig: '9f86d081884c7d65',
};

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  await ensureClientBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'mooring-demo-'));
  try {
    await withSampleService(join(folder, 'data'), (service) => showSteps(service, folder));
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function showSteps({ origin: url, environment }, folder) {
  const { MooringClient } = await import('../client/dist/client.js');
  const mooring = (...args) => {
    print(`$ mooring ${args.join(' ')}`);
    return runMooring(environment, args);
  };
  const manifestKey = createPublicKey(readFileSync(join(environment.DATA_DIR, 'keys/manifest-private.pem')));
  const client = (name, more = {}) =>
    new MooringClient({
      baseUrl: url,
      app: 'EXAMPLE',
      product: 'com.example.app',
      appVersion: '0.9.0',
      trustedKeys: [manifestKey.export({ format: 'jwk' }).x],
      stateFile: join(folder, `${name}.json`),
      // The digest of an invented hardware UUID. By default the client reads the UUID of the computer and sends only its
      // digest.
      machineId: async () => createHash('sha256').update(`hardware UUID of ${name}`).digest('hex'),
      telemetry: () => TELEMETRY,
      log: (line) => print(`  the client logs: ${line}`),
      fetch: withRequestLog(fetch, url),
      ...more,
    });

  printTitle('The vendor issues a license for one machine, and gives support a token');
  const email = 'ada@example.com';
  const { license_key } = mooring('license', 'issue', '--email', email, '--machines', '1');
  mooring('staff', 'add', 'grace@example.com', '--role', 'support');
  const { token } = mooring('staff', 'token', 'grace@example.com');

  printTitle('Ada clicks Activate: the license is activated on her machine, which is known by a digest');
  const studio = client('studio');
  await studio.start();
  await studio.activate(license_key, email, 'Studio Mac');

  printTitle('Every six hours a heartbeat renews the token and sends anonymous telemetry');
  await studio.heartbeatNow();

  printTitle('After a crash the next heartbeat sends where the application failed, without personal data');
  await studio.reportCrash(CRASH);
  await studio.heartbeatNow();
  await studio.close();

  printTitle('Ada turns telemetry off and restarts: no telemetry is sent, and all features work');
  const restarted = client('studio', { environment: { EXAMPLE_TELEMETRY_DISABLED: '1' } });
  await restarted.start();
  await restarted.heartbeatNow();

  printTitle(
    'Once a day the client reads the manifest, verifies the signature, and uses only signed content',
  );
  const update = await restarted.checkForUpdate();
  print(
    `  the menu shows: ${update.available ? `version ${update.offer.version} is available` : update.reason}`,
  );

  printTitle('A second machine exceeds the machine limit, so Ada asks support');
  const laptop = client('laptop');
  await laptop.start();
  await laptop
    .activate(license_key, email, 'Laptop')
    .catch((refusal) => print(`  the client shows: ${refusal.detail}`));

  printTitle('Support finds the license and releases the old machine, with a reason');
  await releaseAsSupport(url, token, email);

  printTitle('The old machine stops at its next heartbeat, and the new one is activated');
  const status = await restarted.heartbeatNow();
  print(`  the client stops: ${status.detail}`);
  await laptop.activate(license_key, email, 'Laptop');
  print(`  the client is ${laptop.status.kind}, and may be offline until ${laptop.status.offline_until}`);
  await Promise.all([restarted.close(), laptop.close()]);
  print('');
}

async function releaseAsSupport(url, token, email) {
  const post = async (path, body) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const answer = await withRequestLog(fetch, url)(url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  const { licenses } = await post('/support/api/licenses/search', { email });
  const [{ id }] = licenses.flatMap((license) => license.activations);
  await post(`/support/api/activations/${id}/release`, { reason: 'new machine' });
}
