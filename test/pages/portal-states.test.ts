import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { sell } from '../erasure/harness.js';
import { Service } from '../support/harness.js';
import type { LicenseChange } from '../../src/licenses/licenses.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { Pages } from './browser.js';
import { headline, openByCode, openByKey } from './portal-browser.js';
import { codeAfter } from '../license-portal/harness.js';
import { bind, expectFocus, toasted } from './steps.js';
import { startForBrowser } from './service.js';

let service: Service;
let origin: string;
beforeAll(async () => void ({ service, origin } = await startForBrowser()));
afterAll(() => service.close());
const browser = Pages.forThisFile();

const someone = () => `${randomUUID()}@example.com`;

/** The texts of the page about a license with one machine after a change of the license. */
async function opened(change: LicenseChange, machines = 1): Promise<Page> {
  const license = await service.issue({ email: someone(), machines_allowed: Math.max(machines, 1) });
  for (let each = 0; each < machines; each++) await bind(service, license, `Mac ${each}`);
  await service.setLicense(license.license_id, change);
  const page = await browser.page(origin);
  await openByKey(page, origin, license);
  return page;
}

const YEARS_AGO = new Date('2025-01-04T00:00:00Z');
const NEXT_YEAR = new Date('2027-01-04T00:00:00Z');

test.each<[state: string, LicenseChange, machines: number, headline: string, sentence: string]>([
  ['none yet', {}, 0, '0 of 1 machines in use', 'Not active anywhere yet.'],
  ['places left', { machines_allowed: 3 }, 1, '1 of 3 machines in use', 'You can use it on 2 more machines'],
  ['limit reached', {}, 1, '1 of 1 machines in use', 'this one has to be released first'],
  ['no date', {}, 1, '1 of 1 machines in use', 'No expiry'],
  [
    'more than allowed',
    { machines_allowed: 1 },
    3,
    '3 of 1 machines in use',
    '3 of these have to be released first',
  ],
  ['with updates', { expires_at: NEXT_YEAR }, 1, '1 of 1 machines in use', 'Updates through 3 January 2027'],
  [
    'valid for a time',
    { expires_at: NEXT_YEAR, on_expiry: 'stop' },
    1,
    '1 of 1 machines in use',
    'Runs through 3 January 2027',
  ],
  [
    'updates ended',
    { expires_at: YEARS_AGO },
    1,
    '1 of 1 machines in use',
    'Updates ran through 3 January 2025.',
  ],
  [
    'expired',
    { expires_at: YEARS_AGO, on_expiry: 'stop' },
    1,
    'This license has expired',
    'Ran through 3 January 2025.',
  ],
  ['suspended', { staff_status: 'suspended' }, 1, 'This license is suspended', 'It is suspended for now'],
  ['revoked', { staff_status: 'revoked' }, 1, 'This license was revoked', 'It was withdrawn'],
])('%s', async (_state, change, machines, first, sentence) => {
  const page = await opened(change, machines);
  expect(await headline(page).textContent()).toBe(first);
  await page.getByText(sentence).waitFor();
  await page.getByText('When a machine was last used is not shown, because it is not stored.').waitFor();
  await browser.expectGoodLooks(page);
});

test('refunded: all its activations have ended, and no key is offered', async () => {
  const email = someone();
  const id = await sell(service, email, 'pi_refunded');
  const license_key = (await service.app.get(LicensesService).currentKey(id))!;
  await bind(service, { email, license_key }, 'Studio Mac');
  await service.app.get(PurchasesService).record({ transaction_id: 'pi_refunded', status: 'refunded' });
  const page = await browser.page(origin);
  await openByCode(page, origin, service, email);
  expect(await headline(page).textContent()).toBe('This license was refunded');
  await page.getByText('Refunded on 20 November').waitFor();
  expect(await page.getByRole('button', { name: 'Send me the key' }).count()).toBe(0);
  await browser.expectGoodLooks(page);
});

test('several licenses: the first line counts the valid ones', async () => {
  const email = someone();
  const [one, two, gone] = [
    await service.issue({ email, machines_allowed: 2 }),
    await service.issue({ email, expires_at: NEXT_YEAR }),
    await service.issue({ email }),
  ];
  const hint = ({ license_key }: { license_key: string }) => license_key.slice(-2);
  await bind(service, one, 'Studio Mac');
  await bind(service, two, 'MacBook Air');
  await bind(service, gone, 'Old iMac');
  await service.setLicense(gone.license_id, { staff_status: 'revoked' });
  const page = await browser.page(origin);
  await openByCode(page, origin, service, email);
  expect(await headline(page).textContent()).toBe('2 of 3 machines in use');
  await page
    .getByText(`You can use 1 more machine: enter the key that ends in ${hint(one)} there.`)
    .waitFor();
  await service.setLicense(two.license_id, { machines_allowed: 2 });
  await page.reload();
  await page
    .getByText(/You can use 2 more machines: enter one of the keys that end in \w\w, \w\w there\./)
    .waitFor();
  expect(await page.getByRole('heading', { level: 2, name: /^License key ending in/ }).count()).toBe(3);
  expect(await page.getByRole('button', { name: 'Send me the key' }).count()).toBe(2);
  await browser.expectGoodLooks(page);
});

test('signed in by key, the page says that it shows one license, and a code shows all', async () => {
  const email = someone();
  const [one] = [await service.issue({ email }), await service.issue({ email })];
  const page = await browser.page(origin);
  await openByKey(page, origin, one);
  await page.getByText('You see the license of the key that you entered.').waitFor();
  await page.getByRole('button', { name: `Show all licenses of ${email}` }).click();
  const mail = () => page.getByRole('button', { name: 'Mail me a code' }).click();
  const code = await codeAfter(service, email, mail);
  await page.getByLabel('Code', { exact: true }).fill(code);
  await toasted(page, 'You are signed in with a code.');
  await expectFocus(headline(page));
  expect(await page.getByRole('heading', { level: 2, name: /^License key ending in/ }).count()).toBe(2);
  expect(await page.getByText('You see the license of the key that you entered.').count()).toBe(0);
});
