import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { AUDIT_CONTEXT } from '../support/harness.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { focusWindow } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { expectAnnounced, expectFocus, nextFrame } from './steps.js';
import { button, dialog, openLoaded, row, untilAnswered } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();
const license = await service.issue({ email: 'holder@example.com' });
const fleet = await Fleet.of(service);
const crash = { crash_sig: '0123456789abcdef', crash_label: 'ValueError', crash_app_version: '3.1.0' };
await fleet.receive('2026-11-11', 600, { app_version: '3.1.0' });
await fleet.receive('2026-11-11', 5, crash);
await fleet.runRetention('2026-11-16');
await addFailedMail('a');

/** Inserts a mail that could not be delivered. */
async function addFailedMail(idEnd: string): Promise<void> {
  const key = `license_key 0198f000-0000-7000-8000-00000000000${idEnd}`;
  await service.sql(
    `select graphile_worker.add_job('mail_license_key', '{}', run_at := now() + interval '1 day', job_key := $1)`,
    [key],
  );
  await service.sql(
    `update graphile_worker._private_jobs set attempts = 3, last_error = 'refused' where key = $1`,
    [key],
  );
}

/** A script that records what screen readers announce from now on. */
const RECORD_ANNOUNCEMENTS = `{
  window.announcements = [];
  const LIVE = '#announcer, [role=status], [role=alert]';
  const find = (node) => (node instanceof Element ? node : node.parentElement)?.closest(LIVE);
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes)
      for (const region of [target, ...addedNodes].map(find)) if (region) announcements.push(region.textContent);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}`;

interface View {
  readonly hash: () => string;
  /** Types or selects something, if the view has a field. @returns the control that gets the focus */
  readonly prepare: (page: Page) => Promise<Locator>;
  /** Changes what the view shows, as another person would. */
  readonly change: () => Promise<unknown>;
  readonly expectChanged: (page: Page) => Promise<unknown>;
  /** The last segments of the paths that are requested again. */
  readonly paths: readonly string[];
}

const VIEWS: Readonly<Record<string, View>> = {
  'licenses of a holder': {
    hash: () => `holder/${license.license_id}`,
    prepare: async (page) => {
      const ordered = untilAnswered(page, 'holder');
      await page.getByLabel('Order').selectOption('Next to expire first');
      await ordered;
      return page.getByLabel('Order');
    },
    change: () => service.setLicense(license.license_id, { machines_allowed: 7 }),
    expectChanged: (page) => page.getByText('0 of 7 in use').waitFor(),
    paths: ['holder'],
  },
  'audit trail': {
    hash: () => 'audit',
    prepare: async (page) => {
      await expectAnnounced(page, /newest first/);
      await page.getByLabel('From').fill('2026-11-10');
      return page.getByLabel('From');
    },
    change: () => service.app.get(StaffService).ensure('new@example.com', 'support', AUDIT_CONTEXT),
    expectChanged: (page) => row(page, /added new@example\.com to the staff/).waitFor(),
    paths: ['audit', 'filters'],
  },
  fleet: {
    hash: () => 'fleet',
    prepare: async (page) => {
      await page.getByLabel('State', { exact: true }).selectOption('Muted');
      await page.getByText('No muted crash group in these weeks.').waitFor();
      await page.getByLabel('State', { exact: true }).selectOption('Open');
      await row(page, /^ValueError/).waitFor();
      return page.getByLabel('State', { exact: true });
    },
    change: () => service.sql('update crash_week set crashes = 4321'),
    expectChanged: (page) => page.getByRole('cell', { name: '4,321' }).first().waitFor(),
    paths: ['fleet', 'crash-groups'],
  },
  service: {
    hash: () => 'service',
    prepare: async (page) => page.locator('[href$="00a"]'),
    change: () => addFailedMail('b'),
    expectChanged: (page) => page.getByRole('table', { name: '2 mails were not delivered' }).waitFor(),
    paths: ['service', 'manifests', 'retention'],
  },
  // Its dialog stays open, so it is the last view.
  staff: {
    hash: () => 'staff',
    prepare: async (page) => {
      await button(page, 'Add a person …').click();
      await dialog(page).getByLabel('E-mail').fill('half-typed@');
      return dialog(page).getByLabel('E-mail');
    },
    change: () => service.app.get(StaffService).ensure('newer@example.com', 'support', AUDIT_CONTEXT),
    expectChanged: (page) => row(page, 'newer@example.com').waitFor(),
    paths: ['staff', 'tokens'],
  },
};

test('when a person returns, each view requests its data again and keeps what was typed, focused and scrolled, without an announcement', async () => {
  const page = await browser.openPage(origin, { viewport: { width: 1280, height: 400 } });
  await openLoaded(page, origin, service, 'admin');
  const answered = new Set<string>();
  page.on('requestfinished', (request) => answered.add(new URL(request.url()).pathname.split('/').at(-1)!));
  for (const [view, { hash, prepare, change, expectChanged, paths }] of Object.entries(VIEWS)) {
    await Promise.all([...paths.map((path) => untilAnswered(page, path)), page.goto(`/support/#${hash()}`)]);
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    const control = await prepare(page);
    await control.focus();
    await nextFrame(page);
    await page.evaluate('scrollBy(0, 30)');
    const [before] = await Promise.all([readState(control), page.evaluate(RECORD_ANNOUNCEMENTS)]);
    await change();
    answered.clear();
    await focusWindow(page);
    await expectChanged(page);
    await until(async () => paths.every((path) => answered.has(path)));
    await nextFrame(page);
    await expectFocus(control);
    expect([view, await readState(control)]).toEqual([view, before]);
    expect([view, await page.evaluate('announcements')]).toEqual([view, []]);
  }
});

const readState = async (control: Locator) => ({
  value: await control.evaluate('(element) => element.value'),
  position: await control.boundingBox(),
});
