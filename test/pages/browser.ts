import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type LaunchOptions,
  type Page,
} from 'playwright-core';
import { profiled } from '../support/profile.js';

/** A guard against a page that hangs, below that of a test (`jest.config.js`), and no measure of one that is slow. */
const GUARD_MS = 300_000;

/** How the pages are looked at: `light` and `dark`, as wide as a telephone and as a desktop. */
export const LOOKS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [320, 1280].map((width) => ({ colorScheme, width })),
);

/** What axe-core looks at without being asked to, and that depends on colours. */
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** What the service's own clock says where no test sets it. */
export const TODAY = '2026-11-20T13:00:00Z';

/** One Chromium for a test file. Whatever a page complains of, or asks of another origin, fails the test. */
export class Pages {
  readonly faults: string[] = [];
  readonly #contexts: BrowserContext[] = [];
  #browser: Browser | undefined;
  #axe = '';

  /** Opens the browser before the file's tests, and closes it after them. */
  static forThisFile(): Pages {
    const pages = new Pages();
    beforeAll(() => pages.open());
    afterEach(() => pages.endTest());
    afterAll(() => pages.#browser?.close());
    return pages;
  }

  private async open(): Promise<void> {
    const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
    this.#axe = await readFile(axe, 'utf8');
    this.#browser = await profiled('starting a browser', () =>
      chromium.launch({
        ...(JSON.parse(process.env['MOORING_TEST_CHROMIUM']!) as LaunchOptions),
        timeout: GUARD_MS,
      }),
    );
  }

  /** A page of its own context, so of a browser that was never here. */
  async page(origin: string, { now = TODAY, ...options }: PageOptions = {}): Promise<Page> {
    const context = await this.#browser!.newContext({
      locale: 'en-GB',
      timezoneId: 'UTC',
      baseURL: origin,
      reducedMotion: 'reduce',
      ...options,
    });
    this.#contexts.push(context);
    context.setDefaultTimeout(GUARD_MS);
    await context.clock.setFixedTime(now);
    context.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !/^(blob|data):/.test(request.url()))
        this.faults.push(`asked of another origin: ${request.url()}`);
    });
    context.on('weberror', (error) => this.faults.push(String(error.error())));
    context.on('console', (message) => {
      // The browser itself notes each answer that is an error; what the page makes of them is what the tests are about.
      const isNetwork = message.text().startsWith('Failed to load resource: ');
      if (['error', 'warning'].includes(message.type()) && !isNetwork) this.faults.push(message.text());
    });
    return context.newPage();
  }

  private async endTest(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await context.close();
    expect(this.faults.splice(0)).toEqual([]);
  }

  /** Nothing that axe-core finds fault with (WCAG 2.2 AA and its good practices), by all its rules or by those of colours. */
  async expectAccessible(page: Page, rules: 'all' | 'colours' = 'all'): Promise<void> {
    // A script tag would be blocked by the page's policy; this is run by the tool, not by the page.
    if (!(await page.evaluate('"axe" in window'))) await page.evaluate(this.#axe);
    const options = {
      resultTypes: ['violations'],
      ...(rules === 'colours' && { runOnly: RULES_OF_COLOURS }),
    };
    const found = (await page.evaluate(
      `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) =>
        id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join('; ')))`,
    )) as string[];
    expect(found).toEqual([]);
  }

  /** Accessible, and nothing to scroll sideways for, in light and dark, narrow and wide. */
  expectGoodLooks(page: Page): Promise<void> {
    return profiled('looking at a page', () => this.#expectGoodLooks(page));
  }

  async #expectGoodLooks(page: Page): Promise<void> {
    for (const { colorScheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      // The two schemes differ in their colours alone.
      await this.expectAccessible(page, colorScheme === 'dark' ? 'colours' : 'all');
      // After two frames: a chart takes its new width from a ResizeObserver, which runs at the end of the first.
      const overflow = await page.evaluate(
        `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(
           () => document.documentElement.scrollWidth - document.documentElement.clientWidth)`,
      );
      expect({ width, overflow }).toEqual({ width, overflow: 0 });
    }
  }
}

interface PageOptions extends BrowserContextOptions {
  /** The moment that the browser takes it to be. */
  readonly now?: string;
}
