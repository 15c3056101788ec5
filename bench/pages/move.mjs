import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 50;

/**
 * Moves a license that is in use on all its machines to a new machine: the reference client is refused, its link opens the
 * portal, the holder enters the mailed code and releases a machine, and the client activates by itself.
 * @param page of playwright-core
 * @param {string} url of the service
 * @param holder `license_key` and `email` of the license
 * @param {string} folder for the state file of the client
 * @param {string} outbox the folder of the mails
 * @returns the number of clicks and codes, and the milliseconds from the refusal until the client runs. They do not include
 *   the time that a person needs to read.
 */
export async function moveToNewMachine(page, url, { license_key, email }, folder, outbox) {
  const { MooringClient } = await import('../../client/dist/client.js');
  const client = new MooringClient({
    baseUrl: url,
    app: 'EXAMPLE',
    product: 'com.example.app',
    appVersion: '3.2.0',
    trustedKeys: [],
    stateFile: join(folder, 'new-machine.json'),
    environment: {},
    log: () => {},
    machineId: async () => createHash('sha256').update('new machine').digest('hex'),
  });
  let clicks = 0;
  const click = async (name) => {
    clicks += 1;
    await page.getByRole('button', { name }).first().click();
  };
  try {
    const refusal = await client.activate(license_key, email).catch((error) => error);
    const began = performance.now();
    // The first click is the one in the application that opens the browser.
    clicks += 1;
    await page.goto(refusal.extras.release_url);
    await click('Mail me a code');
    await page.getByLabel('Code', { exact: true }).pressSequentially(await mailedCode(outbox));
    await click(/^Release Mac/);
    await click('Release it');
    while (client.status.kind !== 'running') await pause(POLL_MS);
    return { clicks, codes: 1, ms: performance.now() - began };
  } finally {
    await client.close();
  }
}

/** Waits for the mail with the code, whose subject begins with its digits. */
async function mailedCode(outbox) {
  for (;;) {
    for (const name of readdirSync(outbox).filter((file) => file.endsWith('.eml'))) {
      const code = /^Subject: (\d{4} \d{4}) /m.exec(readFileSync(join(outbox, name), 'utf8'));
      if (code) return code[1];
    }
    await pause(POLL_MS);
  }
}
