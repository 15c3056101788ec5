import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { outbox, until } from '../erasure/harness.js';
import { Service } from '../support/harness.js';
import { Pages } from './browser.js';
import { headline, machine, openByCode, openByKey } from './portal-browser.js';
import { bind, expectFocus, announced, type Holder } from './steps.js';
import { startForBrowser } from './service.js';

let service: Service;
let origin: string;
beforeAll(async () => {
  const environment = { SELF_RELEASES_PER_YEAR: '1' };
  ({ service, origin } = await startForBrowser({ environment }));
});
afterAll(() => service.close());
const browser = Pages.forThisFile();

let license: Holder & { license_id: string };
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 2 });
});

const requests = (id: string) =>
  service.sql<{ reason: string | null }>('select reason from release_request where activation_id = $1', [id]);

describe('asking support to release a machine', () => {
  test('by keyboard alone: the dialog names the machine, and the row then shows the date of the request', async () => {
    const id = await bind(service, license, 'Studio Mac');
    const page = await browser.page(origin);
    await openByKey(page, origin, license);
    const button = page.getByRole('button', { name: 'Ask support to release Studio Mac' });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Ask support to release Studio Mac?' });
    await dialog.getByText('the application stops on Studio Mac').waitFor();
    await expectFocus(dialog.getByLabel('Reason'));
    await browser.expectGoodLooks(page);
    // Escape closes the dialog, and the focus is where it was before.
    await page.keyboard.press('Escape');
    await expectFocus(button);
    expect(await requests(id)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.keyboard.type('The old one broke.');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await announced(page, 'Support has been asked.');
    const state = machine(page, 'Studio Mac').getByRole('cell').last();
    await expectFocus(state);
    expect(await state.textContent()).toBe('Asked on 20 November');
    expect(await requests(id)).toEqual([{ reason: 'The old one broke.' }]);
    await page.reload();
    await machine(page, 'Studio Mac').getByText('Asked on 20 November').waitFor();
    await browser.expectGoodLooks(page);
  });

  test('the error of a refused reason is shown at the field, which keeps its text', async () => {
    const id = await bind(service, license, 'Studio Mac');
    const page = await browser.page(origin);
    await openByKey(page, origin, license);
    await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
    const reason = page.getByLabel('Reason');
    for (const refused of ['Sold to bob@example.com', 'x'.repeat(501)]) {
      await reason.fill(refused);
      await page.getByRole('button', { name: 'Send to support' }).click();
      await page.getByText('At most 500 characters, and no e-mail address.').waitFor();
      await expectFocus(reason);
      expect(await reason.inputValue()).toBe(refused);
    }
    await reason.fill('');
    await page.getByRole('button', { name: 'Send to support' }).click();
    await announced(page, 'Support has been asked.');
    expect(await requests(id)).toEqual([{ reason: null }]);
  });
});

describe('releasing a machine oneself', () => {
  test('allows another machine at once, and the first line says so', async () => {
    await bind(service, license, 'Studio Mac');
    await bind(service, license, 'MacBook Air');
    const page = await browser.page(origin);
    await openByCode(page, origin, service, license.email);
    expect(await headline(page).textContent()).toBe('2 of 2 machines in use');
    await page.getByText('one of these has to be released first').waitFor();
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    await page.getByRole('dialog').getByText('You can do this 1 more time').waitFor();
    await browser.expectGoodLooks(page);
    await page.getByRole('button', { name: 'Release it' }).click();
    await announced(page, 'It is released. Its place is free.');
    await expectFocus(headline(page));
    expect(await headline(page).textContent()).toBe('1 of 2 machines in use');
    const ended = page.getByRole('table', { name: 'Machines no longer in use' });
    await ended.getByRole('row', { name: 'Studio Mac' }).getByText('Released on 20 November').waitFor();
    // The only self-release of the year is used up, so support must release the next machine.
    await page.getByRole('button', { name: 'Ask support to release MacBook Air' }).waitFor();
    await page.reload();
    await ended.getByRole('row', { name: 'Studio Mac' }).waitFor();
  });

  test('is not offered to a holder who signed in with a license key', async () => {
    await bind(service, license, 'Studio Mac');
    const page = await browser.page(origin);
    await openByKey(page, origin, license);
    await page.getByText('Signed in with a code, you can release a machine yourself.').waitFor();
    expect(await page.getByRole('button', { name: 'Release Studio Mac', exact: true }).count()).toBe(0);
  });

  test('is refused with an explanation if another page has used up the limit, and the machine stays active', async () => {
    await bind(service, license, 'Studio Mac');
    const page = await browser.page(origin);
    await openByCode(page, origin, service, license.email);
    await service.sql(
      `insert into activation (id, license_id, machine_id, app_version, activated_at, ended_at, ended_reason, released_by_holder)
       values (gen_random_uuid(), $1, decode(repeat('ab', 32), 'hex'), '1.0', $2, $2, 'released', true)`,
      [license.license_id, service.clock.now()],
    );
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    await page.getByRole('button', { name: 'Release it' }).click();
    await page.getByRole('alert').getByText('Support can do it for you.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await machine(page, 'Studio Mac').waitFor();
  });
});

test('the machine that opened the page is marked, and is first', async () => {
  const id = await bind(service, license, 'First');
  const second = await bind(service, license, 'Second');
  const page = await browser.page(origin);
  await openByKey(page, origin, license, `#activation=${id}`);
  const rows = page.getByRole('rowheader');
  expect(await rows.first().textContent()).toBe('FirstThis machine');
  expect(await page.getByText('This machine').count()).toBe(1);
  await browser.expectGoodLooks(page);
  await page.evaluate(`location.hash = '#activation=${second}'`);
  await page.getByRole('rowheader', { name: 'Second This machine' }).waitFor();
  expect(await page.getByText('This machine').count()).toBe(1);
});

test('a label is untrusted text: it is shown unchanged, and never as markup', async () => {
  const hostile = [
    '<img src=x onerror=alert(1)>',
    '{{constructor.constructor("alert(1)")()}} {machine}',
    '\u202Eמחשב של דנה',
    '👩🏽‍💻 Büro',
    'M'.repeat(100),
    "'; drop table license; --",
  ];
  await service.setLicense(license.license_id, { machines_allowed: 10 });
  for (const label of hostile) {
    const id = await bind(service, license, label);
    // The service removes some of the characters, but the page does not rely on that.
    await service.sql('update activation set hostname_hint = $2 where id = $1', [id, label]);
  }
  await bind(service, license, null);
  const page = await browser.page(origin);
  await openByKey(page, origin, license);
  const shown = await page.getByRole('rowheader').locator('bdi').allTextContents();
  expect(shown.toSorted()).toEqual(hostile.toSorted());
  expect(await page.getByRole('rowheader', { name: 'Unnamed machine' }).count()).toBe(1);
  expect(await page.locator('main img').count()).toBe(0);
  await browser.expectGoodLooks(page);
  for (const label of hostile) {
    await page.getByRole('button', { name: `Ask support to release ${label}` }).click();
    expect(await page.getByRole('dialog').locator('bdi').first().textContent()).toBe(label);
    await page.keyboard.press('Escape');
  }
});

test('500 machines: those that ended are collapsed', async () => {
  await service.setLicense(license.license_id, { machines_allowed: 500 });
  await service.sql(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at, ended_at, ended_reason)
     select gen_random_uuid(), $1, sha256(n::text::bytea), 'Render node ' || n, '3.2.0', $2::timestamptz,
            case when n > 300 then $2::timestamptz end, case when n > 300 then 'released' end from generate_series(1, 500) n`,
    [license.license_id, service.clock.now()],
  );
  const page = await browser.page(origin);
  await openByKey(page, origin, license);
  expect(await headline(page).textContent()).toBe('300 of 500 machines in use');
  expect(await page.getByRole('rowheader').count()).toBe(300);
  await page.getByText('200 machines no longer in use').click();
  await until(async () => (await page.getByRole('rowheader').count()) === 500);
});

test('"Send me the key" mails it to the address of the license', async () => {
  const page = await browser.page(origin);
  await openByCode(page, origin, service, license.email);
  await page.getByRole('button', { name: 'Send me the key' }).click();
  await announced(page, `The key is on its way to ${license.email}.`);
  await browser.expectGoodLooks(page);
  const mailed = async () =>
    (await outbox(service)).some(
      ({ to, text }) => to === license.email && text.includes(license.license_key),
    );
  await until(mailed);
});
