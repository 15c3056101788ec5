import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { outbox } from '../erasure/harness.js';
import { until } from '../support/until.js';
import type { Locator, Page, Route } from 'playwright-core';
import { ReleaseDecisions } from '../../src/releases/release-decisions.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { focusWindow, headline, machineRow, openByCode, openByKey } from './portal-browser.js';
import { codeAfter } from '../license-portal/harness.js';
import {
  activateMachine,
  expectExactTime,
  expectFocus,
  expectAnnounced,
  expectToast,
  insertSelfRelease,
  type HolderCredentials,
  closeByEscape,
  expectApart,
  expectText,
} from './steps.js';
import { endRoute, routeNext } from './routes.js';
import { startForBrowser } from './service.js';

const environment = { SELF_RELEASES_PER_YEAR: '1' };
const { service, origin, browser } = await startForBrowser({ environment });

/** Lets the service do what a request asks, and loses its answer. */
async function loseAnswer(route: Route): Promise<void> {
  await route.fetch();
  await route.abort();
}

let license: HolderCredentials & { license_id: string };
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 2 });
});

/** Inserts the only self-release that the holder has in a year. */
const useUpSelfRelease = () => insertSelfRelease(service, license.license_id);

const releaseByStaff = (id: string) =>
  service.app.get(ReleaseService).release(id, { actor: 'support@example.com', reason: 'Asked by phone.' });

const readReleaseRequests = (activationId: string) =>
  service.sql<{ reason: string | null }>('select reason from release_request where activation_id = $1', [
    activationId,
  ]);

describe('asking support to release a machine', () => {
  beforeEach(useUpSelfRelease);

  test('works by keyboard alone: the dialog names the machine, and the row then shows the date of the request', async () => {
    const id = await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    const button = page.getByRole('button', { name: 'Ask support to release Studio Mac' });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Ask support to release Studio Mac?' });
    await expectText(dialog, 'the application stops on Studio Mac');
    await expectFocus(dialog.getByLabel('Reason'));
    await browser.expectAccessibleLayout(page);
    // Escape closes the dialog. If something was typed, the first Escape only warns.
    await page.keyboard.press('Escape');
    await expectFocus(button);
    await page.keyboard.press('Enter');
    await page.keyboard.type('The');
    await page.keyboard.press('Escape');
    await expectText(dialog.getByRole('alert'), 'What you typed would be lost.');
    await closeByEscape(dialog);
    await expectFocus(button);
    expect(await readReleaseRequests(id)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.keyboard.type('The old one broke.');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expectToast(page, 'Support has been asked.');
    const state = machineRow(page, 'Studio Mac').getByRole('cell').last();
    await expectFocus(state);
    expect(await state.textContent()).toBe('Asked on 20 November');
    expect(await readReleaseRequests(id)).toEqual([{ reason: 'The old one broke.' }]);
    await page.reload();
    await expectText(machineRow(page, 'Studio Mac'), 'Asked on 20 November');
    await browser.expectLayout(page);
  });

  test('is shown as done although its answer is lost', async () => {
    const id = await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
    await page.getByLabel('Reason').fill('Sold');
    await routeNext(page, '**/portal/api/activations/*/release-request', loseAnswer);
    await page.getByRole('button', { name: 'Send to support' }).click();
    await expectToast(page, 'Support has been asked.');
    await expectText(machineRow(page, 'Studio Mac'), 'Asked on 20 November');
    expect(await readReleaseRequests(id)).toEqual([{ reason: 'Sold' }]);
  });

  test('shows the error of a refused reason at the field, which keeps its text', async () => {
    const id = await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
    const reason = page.getByLabel('Reason');
    for (const refused of ['Sold to bob@example.com', 'x'.repeat(501)]) {
      await reason.fill(refused);
      await page.getByRole('button', { name: 'Send to support' }).click();
      await expectText(page, 'At most 500 characters, and no e-mail address.');
      await expectFocus(reason);
      expect(await reason.inputValue()).toBe(refused);
    }
    await reason.fill('');
    await page.getByRole('button', { name: 'Send to support' }).click();
    await expectAnnounced(page, 'Support has been asked.');
    expect(await readReleaseRequests(id)).toEqual([{ reason: null }]);
  });
});

describe('a self-release', () => {
  test('of a machine that support has released meanwhile says so, and uses up no self-release', async () => {
    const id = await activateMachine(service, license, 'Studio Mac');
    await activateMachine(service, license, 'MacBook Air');
    const page = await openByCode(browser, origin, service, license.email);
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    await releaseByStaff(id);
    await page.getByRole('button', { name: 'Release it' }).click();
    await expectToast(page, 'Nothing to do: this machine is no longer in use.');
    await expectFocus(headline(page));
    expect(await headline(page).textContent()).toBe('1 of 2 machines in use');
    await page.getByRole('button', { name: 'Release MacBook Air', exact: true }).waitFor();
  });

  test('frees a place at once, and the headline says so', async () => {
    await activateMachine(service, license, 'Studio Mac');
    await activateMachine(service, license, 'MacBook Air');
    const page = await openByCode(browser, origin, service, license.email);
    expect(await headline(page).textContent()).toBe('2 of 2 machines in use');
    await expectText(page, 'one of these has to be released first');
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    await expectText(page.getByRole('dialog'), 'You can do this 1 more time');
    await browser.expectAccessibleLayout(page);
    await page.getByRole('button', { name: 'Release it' }).click();
    await expectAnnounced(page, 'It is released. Its place is free.');
    await expectFocus(headline(page));
    expect(await headline(page).textContent()).toBe('1 of 2 machines in use');
    const ended = page.getByRole('table', { name: 'Machines no longer in use' });
    await expectText(ended.getByRole('row', { name: 'Studio Mac' }), 'Released on 20 November');
    // The only self-release of the year is used up, so support must release the next machine.
    await page.getByRole('button', { name: 'Ask support to release MacBook Air' }).waitFor();
    await page.reload();
    await ended.getByRole('row', { name: 'Studio Mac' }).waitFor();
  });

  test('of a holder who signed in by code is shown as done although its answer is lost', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByCode(browser, origin, service, license.email);
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    await routeNext(page, '**/portal/api/activations/*/release', loseAnswer);
    await page.getByRole('button', { name: 'Release it' }).click();
    await expectToast(page, 'It is released. Its place is free.');
    await expectFocus(headline(page));
    expect(await headline(page).textContent()).toBe('0 of 2 machines in use');
  });

  test('is not confirmed by the second click of a double click, which may hit the dialog that the first one opened', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByCode(browser, origin, service, license.email);
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Release it' });
    await confirm.hover();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    expect(await confirm.getAttribute('aria-busy')).toBe('false');
    await confirm.click();
    await expectToast(page, 'It is released. Its place is free.');
  });

  test('requires a mailed code, in the same dialog, from a holder who signed in by key', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await enterCodeToRelease(page, () => browser.expectAccessibleLayout(page));
    await expectToast(page, 'It is released. Its place is free.');
    await expectFocus(headline(page));
    expect(await headline(page).textContent()).toBe('0 of 2 machines in use');
    // The holder is now signed in by code.
    await page.getByRole('button', { name: 'Download' }).waitFor();
  });

  test('is refused with a message if the limit is used up while the code is typed, and support can be asked', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await enterCodeToRelease(page, useUpSelfRelease);
    const dialog = page.getByRole('dialog', { name: 'Ask support to release Studio Mac?' });
    await expectText(dialog, 'Support can do it for you.');
    await browser.expectAccessibleLayout(page);
    await dialog.getByRole('button', { name: 'Dismiss' }).click();
    await dialog.getByRole('button', { name: 'Send to support' }).click();
    await expectToast(page, 'Support has been asked.');
  });

  test('after a code is shown as done although the machines could not be read afterwards', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await enterCodeToRelease(page, () =>
      routeNext(page, '**/portal/api/session', async (signIn) => {
        // The next request reads the machines, from the same URL.
        await routeNext(page, '**/portal/api/session', (route) => route.fulfill({ status: 503 }));
        await signIn.continue();
      }),
    );
    await expectToast(page, 'It is released. Its place is free.');
    await expectFocus(headline(page));
    expect(await headline(page).textContent()).toBe('0 of 2 machines in use');
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  test('mails another code on request, and accepts a code typed in full-width digits', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    const press = (name: string) => page.getByRole('button', { name }).click();
    await codeAfter(service, license.email, () => press('Mail me a code'));
    const code = await codeAfter(service, license.email, async () => {
      await press('Mail me another code');
      await expectToast(page, 'Another code is on its way.');
    });
    const fullWidth = [...code].map((digit) => String.fromCodePoint(digit.codePointAt(0)! + 0xfee0)).join('');
    await page.getByLabel('Code', { exact: true }).fill(`${fullWidth.slice(0, 4)}ー${fullWidth.slice(4)}`);
    await expectToast(page, 'It is released. Its place is free.');
  });

  test('has a dialog that Escape closes only after a warning if a code was typed, and not at all while the machine is released', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    const dialog = page.getByRole('dialog', { name: 'Release Studio Mac?' });
    const mail = () => dialog.getByRole('button', { name: 'Mail me a code' }).click();
    const code = await codeAfter(service, license.email, mail);
    const { promise: responseAllowed, resolve: answer } = Promise.withResolvers<void>();
    await page.route('**/portal/api/session', async (route) => {
      await responseAllowed;
      await route.continue();
    });
    await dialog.getByLabel('Code', { exact: true }).fill(code.slice(0, 7));
    await page.keyboard.press('Escape');
    await expectText(dialog.getByRole('alert'), 'What you typed would be lost.');
    await dialog.getByLabel('Code', { exact: true }).fill(code);
    await page.locator('.working').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    // The dialog shows no warning, and without one Escape does not close it.
    expect(await dialog.getByRole('alert').count()).toBe(0);
    answer();
    await expectToast(page, 'It is released. Its place is free.');
  });

  test('is refused with an explanation if the limit has been used up meanwhile, and the machine stays active', async () => {
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByCode(browser, origin, service, license.email);
    await useUpSelfRelease();
    await page.getByRole('button', { name: 'Release Studio Mac' }).click();
    await page.getByRole('button', { name: 'Release it' }).click();
    await expectText(page.getByRole('alert'), 'Support can do it for you.');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await machineRow(page, 'Studio Mac').waitFor();
  });
});

/** Opens the dialog for Studio Mac, has a code mailed and types it. `beforeTyping` runs just before the code is typed. */
async function enterCodeToRelease(page: Page, beforeTyping: () => Promise<unknown> = async () => {}) {
  await page.getByRole('button', { name: 'Release Studio Mac' }).click();
  const dialog = page.getByRole('dialog', { name: 'Release Studio Mac?' });
  await expectText(dialog, 'which other people may know');
  const mail = () => dialog.getByRole('button', { name: 'Mail me a code' }).click();
  const code = await codeAfter(service, license.email, mail);
  const field = dialog.getByLabel('Code', { exact: true });
  await expectFocus(field);
  await beforeTyping();
  // The last digit submits the code.
  await field.pressSequentially(code);
}

test('if the application opens the page for a released machine, its row has the focus; an unknown one is explained', async () => {
  await activateMachine(service, license, 'Studio Mac');
  const ended = await activateMachine(service, license, 'Sold Mac');
  await service.sql(`update activation set ended_at = now(), ended_reason = 'released' where id = $1`, [
    ended,
  ]);
  const page = await openByKey(browser, origin, license, `#activation=${ended}`);
  await expectFocus(page.locator(`#name-${ended}`));
  await page.evaluate(`location.hash = '#activation=${randomUUID()}'`);
  await expectText(page, 'opened this page for a machine that is not on the licenses shown here');
});

test('a collapsed list of ended machines opens for the one for which the application opened the page, also a second time', async () => {
  const ended = await service.sql<{ id: string }>(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at, ended_at, ended_reason)
     select gen_random_uuid(), $1, sha256(n::text::bytea), 'Sold Mac ' || n, '3.2.0', $2::timestamptz, $2::timestamptz, 'released'
     from generate_series(1, 30) n returning id`,
    [license.license_id, service.clock.now()],
  );
  const [first, second] = [ended[0]!.id, ended.at(-1)!.id];
  const nameOf = (id: string) => page.locator(`#name-${id}`);
  const page = await browser.openPage(origin);
  await page.setViewportSize({ width: 320, height: 480 });
  await openByKey(page, origin, license, `#activation=${first}`);
  await expectFocusInView(nameOf(first));
  await page.getByText('30 machines no longer in use').click();
  await nameOf(first).waitFor({ state: 'hidden' });
  await page.evaluate(`location.hash = '#activation=${second}'`);
  await expectFocusInView(nameOf(second));
  await browser.expectAccessibleLayout(page);
});

/** Waits until an element has the focus, and expects that it is within the window. */
async function expectFocusInView(locator: Locator): Promise<void> {
  await expectFocus(locator);
  const { top, bottom } = await locator.evaluate((element) => element.getBoundingClientRect());
  const { height } = locator.page().viewportSize()!;
  expect([top >= 0, bottom <= height]).toEqual([true, true]);
}

test('the row of a machine says why its release was declined, and the release can be requested again', async () => {
  await useUpSelfRelease();
  const id = await activateMachine(service, license, 'Studio Mac');
  await service.app.get(ReleaseRequests).create(id, 'Sold it.');
  const [request] = await service.sql<{ id: string }>(
    'select id from release_request where activation_id = $1',
    [id],
  );
  const audit = { actor: 'support@example.com', reason: 'Released <b>one</b> last week' };
  await service.app.get(ReleaseDecisions).decide(request!.id, 'decline', audit);
  const page = await openByKey(browser, origin, license);
  const row = machineRow(page, 'Studio Mac');
  await expectText(row, 'Support declined a release on 20 November. “Released <b>one</b> last week”');
  await browser.expectAccessibleLayout(page);
  await row.getByRole('button', { name: 'Ask support to release' }).click();
  await page.getByRole('button', { name: 'Send to support' }).click();
  await expectText(row, 'Asked on');
  expect(await row.getByText('Support declined').count()).toBe(0);
});

test('at each width an error and a message do not cover a dialog', async () => {
  await activateMachine(service, license, 'Studio');
  const page = await openByCode(browser, origin, service, license.email);
  await page.route('**/portal/api/**', (route) => route.abort());
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('.toast.danger').waitFor();
  await endRoute(page, '**/portal/api/**');
  await page.getByRole('button', { name: 'Send me the key' }).click();
  await expectToast(page, `The key is on its way to ${license.email}.`);
  // A message stays while the pointer is on it.
  await page.locator('.toast.passing').dispatchEvent('pointerenter');
  await page.getByRole('button', { name: 'Release Studio' }).click();
  for (const width of [320, 760, 1280]) {
    await page.setViewportSize({ width, height: 640 });
    await expectApart(page.locator('.toasts'), page.getByRole('dialog'));
    expect(await page.locator('.toast').count()).toBe(2);
  }
});

test('a message disappears by itself, and an error stays until it is dismissed', async () => {
  const page = await browser.openPage(origin, { isContextKept: false });
  await page.clock.install();
  await openByCode(page, origin, service, license.email);
  await page.getByRole('button', { name: 'Send me the key' }).click();
  await expectToast(page, `The key is on its way to ${license.email}.`);
  await page.clock.fastForward(8_000);
  await page.locator('.toast').waitFor({ state: 'detached' });
  await page.route('**/portal/api/**', (route) => route.abort());
  await page.getByRole('button', { name: 'Sign out' }).click();
  const error = page.getByRole('alert').filter({ hasText: 'The service cannot be reached just now.' });
  await error.waitFor();
  await page.clock.fastForward(60_000);
  await error.getByRole('button', { name: 'Dismiss' }).click();
  await error.waitFor({ state: 'detached' });
});

test('the machine for which the application opened the page is marked, and is first', async () => {
  const id = await activateMachine(service, license, 'First');
  const second = await activateMachine(service, license, 'Second');
  // Some applications write ids in upper case.
  const page = await openByKey(browser, origin, license, `#activation=${id.toUpperCase()}`);
  const rows = page.getByRole('rowheader');
  // Below, the focus moves on. The page must not move it back after that.
  await expectFocus(page.locator(`#name-${id}`));
  expect(await rows.first().locator('.name').textContent()).toBe('FirstThis machine');
  await expectText(rows.first(), `Activated 20 November with 3.2.0 · …${id.slice(-4)}`);
  // The focus shows the exact time, so the layout check below includes it.
  await rows.first().locator('time').focus();
  expect(await page.getByText('This machine').count()).toBe(1);
  await browser.expectAccessibleLayout(page);
  await page.evaluate(`location.hash = '#activation=${second}'`);
  await page.getByRole('rowheader', { name: 'Second This machine' }).waitFor();
  expect(await page.getByText('This machine').count()).toBe(1);
});

test('the exact time and its time zone fit on a telephone, in a language and a zone with long names', async () => {
  await activateMachine(service, license, 'Studio Mac');
  const options = { locale: 'de-DE', timezoneId: 'Asia/Kolkata', viewport: { width: 320, height: 640 } };
  const page = await browser.openPage(origin, options);
  await page.goto('/portal/');
  await page.locator('[name=email]').fill(license.email);
  await page.locator('[name=license_key]').fill(license.license_key);
  await page.keyboard.press('Enter');
  await page.getByRole('rowheader').locator('time').focus();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
});

test('the exact time covers the name of no machine, and Escape hides it', async () => {
  await service.setLicense(license.license_id, { machines_allowed: 2 });
  for (const label of ['Studio Mac', 'MacBook Air']) await activateMachine(service, license, label);
  const page = await openByKey(browser, origin, license);
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 });
    for (const name of ['Studio Mac', 'MacBook Air'])
      await expectExactTime(page.getByRole('rowheader').first().locator('time'), page.getByText(name));
  }
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
    const id = await activateMachine(service, license, label);
    // The service removes some of the characters, but the page does not rely on that.
    await service.sql('update activation set hostname_hint = $2 where id = $1', [id, label]);
  }
  await activateMachine(service, license, null);
  const page = await openByKey(browser, origin, license);
  const shown = await page.getByRole('rowheader').locator('bdi').allTextContents();
  expect(shown.toSorted()).toEqual(hostile.toSorted());
  expect(await page.getByRole('rowheader', { name: 'Unnamed machine' }).count()).toBe(1);
  expect(await page.locator('main img').count()).toBe(0);
  await browser.expectLayout(page);
  for (const label of hostile) {
    await page.getByRole('button', { name: `Release ${label}` }).click();
    expect(await page.getByRole('dialog').locator('bdi').first().textContent()).toBe(label);
    await page.keyboard.press('Escape');
  }
});

test('two machines without a name are distinguished by their descriptions, also in the dialogs', async () => {
  const ids = [
    await activateMachine(service, license, null, 'one'),
    await activateMachine(service, license, null, 'two'),
  ];
  const page = await openByKey(browser, origin, license);
  for (const id of ids) {
    const name = 'Unnamed machine';
    const details = `Activated 20 November with 3.2.0 · …${id.slice(-4)}`;
    await page.getByRole('rowheader', { name, description: details, exact: true }).waitFor();
    const button = page.getByRole('button', { name: `Release ${name}`, description: details, exact: true });
    await button.click();
    const dialog = page.getByRole('dialog', { name: `Release ${name}?` });
    await expectText(dialog, details);
    const mail = () => dialog.getByRole('button', { name: 'Mail me a code' }).click();
    await codeAfter(service, license.email, mail);
    await dialog.getByLabel('Code', { exact: true }).waitFor();
    await expectText(dialog, details);
    await page.keyboard.press('Escape');
  }
  await useUpSelfRelease();
  await page.reload();
  for (const id of ids) {
    const details = `Activated 20 November with 3.2.0 · …${id.slice(-4)}`;
    await page.getByRole('button', { name: 'Ask support to release', description: details }).click();
    await expectText(page.getByRole('dialog'), details);
    await page.keyboard.press('Escape');
  }
});

test('a list of 500 machines can be filtered, and the list of the machines no longer in use is collapsed', async () => {
  await service.setLicense(license.license_id, { machines_allowed: 500 });
  await service.sql(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at, ended_at, ended_reason)
     select gen_random_uuid(), $1, sha256(n::text::bytea), 'Render node ' || n, '3.2.0', $2::timestamptz,
            case when n > 300 then $2::timestamptz end, case when n > 300 then 'released' end from generate_series(1, 500) n`,
    [license.license_id, service.clock.now()],
  );
  const page = await openByKey(browser, origin, license);
  expect(await headline(page).textContent()).toBe('300 of 500 machines in use');
  expect(await page.getByRole('rowheader').count()).toBe(300);
  const filter = page.getByLabel('Find a machine');
  await filter.fill('node 12');
  await page.locator('.filter').getByText('11 machines found').waitFor({ state: 'attached' });
  expect(await page.getByRole('rowheader').count()).toBe(11);
  await filter.fill('3.2');
  await page.locator('.filter').getByText('300 machines found').waitFor({ state: 'attached' });
  await filter.fill('none of them');
  await expectText(page, 'No machine in use has this');
  await filter.fill('');
  await page.getByText('200 machines no longer in use').click();
  await until(async () => (await page.getByRole('rowheader').count()) === 500);
});

test('eleven machines have a filter, which keeps its text and the focus when the holder returns and there are ten again; ten have none', async () => {
  await service.setLicense(license.license_id, { machines_allowed: 11 });
  const activations: string[] = [];
  for (let each = 0; each < 10; each += 1)
    activations.push(await activateMachine(service, license, `Node ${each}`, license.license_id));
  const page = await openByKey(browser, origin, license);
  await page.getByRole('heading', { name: '10 of 11 machines in use' }).waitFor();
  const filter = page.getByLabel('Find a machine');
  expect(await filter.count()).toBe(0);
  await activateMachine(service, license, 'Büro', license.license_id);
  await focusWindow(page);
  await filter.fill('Node 3');
  // The machine for which the application opens the page is shown, although the filter does not find it.
  await page.evaluate(`location.hash = '#activation=${activations[5]}'`);
  await expectFocus(page.getByRole('rowheader', { name: 'Node 5 This machine' }).locator('[id^="name-"]'));
  await filter.fill(`…${activations[4]!.slice(-4)}`);
  await machineRow(page, 'Node 4').waitFor();
  // A text that was copied on a Mac may have the letter and its dots as two characters.
  await filter.fill('büro'.normalize('NFD'));
  await machineRow(page, 'Büro').waitFor();
  await filter.fill('Node');
  await releaseByStaff(activations[0]!);
  await focusWindow(page);
  await page.getByRole('heading', { name: '10 of 11 machines in use' }).waitFor();
  expect(await filter.inputValue()).toBe('Node');
  await expectFocus(filter);
  await filter.fill('');
  await machineRow(page, 'Büro').waitFor();
  expect(await filter.count()).toBe(1);
});

test('"Send me the key" mails it to the address of the license', async () => {
  const page = await openByCode(browser, origin, service, license.email);
  await page.getByRole('button', { name: 'Send me the key' }).click();
  await expectAnnounced(page, `The key is on its way to ${license.email}.`);
  await browser.expectAccessibleLayout(page);
  const isKeyMailed = async () =>
    (await outbox(service)).some(
      ({ to, text }) => to === license.email && text.includes(license.license_key),
    );
  await until(isKeyMailed);
});

test('"Send me the key" leads to support if the service cannot derive the key, and says that a license has ended meanwhile', async () => {
  const page = await openByCode(browser, origin, service, license.email);
  await page.getByRole('button', { name: 'Send me the key' }).waitFor();
  await service.sql('update license set key_hash = $2 where id = $1', [license.license_id, randomBytes(32)]);
  await page.getByRole('button', { name: 'Send me the key' }).click();
  await expectText(page.getByRole('alert'), 'Support can replace it with a new one.');
  await service.setLicense(license.license_id, { staff_status: 'revoked' });
  await page.getByRole('button', { name: 'Send me the key' }).click();
  await expectText(
    page.getByRole('alert'),
    'This license has ended meanwhile, so its key is not mailed any more.',
  );
});
