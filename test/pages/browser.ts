import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  CDPSession,
  ConsoleMessage,
  Page,
} from 'playwright-core';
import { NOW } from '../support/harness.js';
import { profiled } from '../support/profile.js';
import { giveBack, PAGE_TIMEOUT_MS, takeBrowser } from './shared-browser.js';

const PHONE_WIDTH = 320;
const DESKTOP_WIDTH = 1280;

/** The width of a desktop window at 200 % zoom. */
const ZOOMED_WIDTH = DESKTOP_WIDTH / 2;

/**
 * The appearances in which pages are checked: light and dark, with the width of a phone and of a desktop, and at 200 % zoom. All
 * rules are checked in one of them, because the others differ from it in colours or in the layout only. A phone also has a menu
 * button, which a test of its own checks with all rules, and column names in the cells. The order keeps changes of the width rare,
 * because after each one Chromium draws the whole page.
 */
const APPEARANCES = [
  { width: PHONE_WIDTH, colorScheme: 'light', rules: 'layout and colours' },
  { width: PHONE_WIDTH, colorScheme: 'dark', rules: 'colours' },
  { width: ZOOMED_WIDTH, colorScheme: 'dark', rules: 'layout' },
  { width: DESKTOP_WIDTH, colorScheme: 'dark', rules: 'colours' },
  { width: DESKTOP_WIDTH, colorScheme: 'light', rules: 'all' },
] as const;

/**
 * A script that lists the controls without a visible edge. In forced colours the browser removes all backgrounds that a style
 * sheet sets.
 */
const CONTROLS_WITHOUT_EDGE = `[
    ...document.querySelectorAll('.button:not(.link), button.choice, input:not([type=checkbox]), select, textarea')
  ]
  .filter((control) => control.checkVisibility())
  .filter((control) => {
    const { borderTopWidth, borderTopColor, backgroundColor } = getComputedStyle(control);
    return parseFloat(borderTopWidth) === 0 || borderTopColor === backgroundColor;
  })
  .map(({ outerHTML }) => outerHTML)`;

/**
 * A script that lists the controls which are too small for a phone: lower than 44 pixels, or fields with a text below 16 pixels,
 * into which iOS zooms. Outside dialogs, a button that looks like a link may be lower.
 */
const SMALL_CONTROLS = `[
    ...document.querySelectorAll(
      '.button:not(.link), dialog button, button.choice, input:not([type=checkbox]), select, textarea'
    )
  ]
  .filter((control) => control.checkVisibility())
  .map((control) => ({
    html: control.outerHTML,
    height: control.offsetHeight,
    fontSize: control.matches('button') ? 16 : parseFloat(getComputedStyle(control).fontSize),
  }))
  .filter(({ height, fontSize }) => height < 44 || fontSize < 16)`;

/** A page that still scrolls sideways after this number of frames has a fault. */
const MAX_LAYOUT_FRAMES = 120;

/** The rules of axe-core that depend on the layout, or on colours. `target-size` is not enabled by default. */
const LAYOUT_RULES = ['scrollable-region-focusable', 'target-size'];
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
const RULES = {
  layout: LAYOUT_RULES,
  colours: COLOUR_RULES,
  'layout and colours': [...LAYOUT_RULES, ...COLOUR_RULES],
};

/**
 * A line with which the browser reports a request that got no response, or a response with an error status. No page can prevent
 * these lines.
 */
const NETWORK_LINE = /^Failed to load resource: (?:net::ERR_|the server responded with a status of (\d{3}) )/;

/** Chromium's warning that a page used a preloaded file late, as on a slow machine. A test checks that each page uses the file. */
export const LATE_USE_OF_PRELOAD = /was preloaded using link preload but not used within a few seconds/;

/**
 * Makes a page independent of how long a test takes: a message is shown until another one replaces it (7,000 ms), the file that
 * detects mistyped keys is awaited without a limit (2,000 ms), the work of each minute is left out (60,000 ms), and a request has
 * 60 times the time, as in the service (`request-limits.ts`).
 */
const WITHOUT_TIMERS = `{
  const { setTimeout, setInterval } = window;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  window.setTimeout = (run, ms, ...more) => ([2_000, 7_000].includes(ms) ? 0 : setTimeout(run, ms, ...more));
  window.setInterval = (run, ms, ...more) => (ms === 60_000 ? 0 : setInterval(run, ms, ...more));
  AbortSignal.timeout = (ms) => timeout(60 * ms);
}`;

/** The paths of the API. A test may make a page send a request that the API refuses. */
const API_PATH = /^\/(portal|support)\/api\//;

/**
 * Whether a test has provoked a line on the console. These lines are left out, because tests check how the page shows what they
 * report:
 * - a request that a test aborted, or that was sent while the network or the service was unavailable;
 * - a 503, with which tests simulate a service that is unavailable;
 * - another error status of the API;
 * - a page that uses late what it preloads, because the machine is slow or a test delays its requests.
 * Any other error status of a page, its files, its texts or its data is a fault. `console.test.ts` leaves out the last kind only.
 */
function isProvoked(message: ConsoleMessage): boolean {
  if (LATE_USE_OF_PRELOAD.test(message.text())) return true;
  const [line, status] = NETWORK_LINE.exec(message.text()) ?? [];
  if (line === undefined) return false;
  if (status === undefined || status === '503') return true;
  return API_PATH.test(new URL(message.location().url).pathname);
}

const DEFAULT_LOCALE = 'en-GB';

/** The script of axe-core, compressed, because Chromium takes longer to receive it than to run it. */
let axe: string | undefined;

async function readAxe(): Promise<string> {
  const path = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  return gzipSync(await readFile(path)).toString('base64');
}

/** `Uint8Array` as pages have it, and Node 24 does not. */
interface Base64Reader {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

/** A context that later tests use again. */
interface KeptContext {
  readonly origin: string;
  readonly locale: string;
  readonly emptyPage: Page;
  /** The session in which the cache and the storage are emptied. */
  readonly session: CDPSession;
}

/** Returns a page as it is, or opens a new page in a browser. */
export const pageOf = async (at: Page | TestBrowser, origin: string): Promise<Page> =>
  at instanceof TestBrowser ? at.openPage(origin) : at;

/** The Chromium of a worker. An error or warning on the console, or a request to another origin, fails the test. */
export class TestBrowser {
  readonly faults: string[] = [];
  /** The contexts of the test that is running. */
  readonly #contexts = new Set<BrowserContext>();
  readonly #kept = new Map<BrowserContext, KeptContext>();
  readonly #times = new WeakMap<BrowserContext, string | number>();
  #browser: Browser | undefined;

  /** Takes the browser before the tests of a file, and gives it back after them. */
  startForFile(): this {
    beforeAll(async () => void (this.#browser = await takeBrowser()));
    afterEach(() => this.#endTest());
    afterAll(() => this.#end());
    return this;
  }

  /** Gives the browser back, with the latest context in the default language for the next file, but no more, to save memory. */
  async #end(): Promise<void> {
    const contexts = [...this.#kept.keys()];
    const lasting = contexts.findLast((context) => this.#kept.get(context)!.locale === DEFAULT_LOCALE);
    for (const context of contexts) if (context !== lasting) await context.close();
    if (this.#browser) await giveBack(this.#browser, lasting);
  }

  /** Opens a page in a context that has no cookies and no cache. */
  async openPage(
    origin: string,
    {
      now = NOW,
      path,
      isContextKept = true,
      locale = DEFAULT_LOCALE,
      viewport,
      ...options
    }: PageOptions = {},
  ): Promise<Page> {
    const context =
      isContextKept && Object.keys(options).length === 0
        ? await this.#keptContext(origin, locale)
        : await this.#newContext(origin, { locale, ...options });
    await this.#setTime(context, now);
    const page = await context.newPage();
    if (isContextKept) await page.addInitScript(WITHOUT_TIMERS);
    if (viewport) await page.setViewportSize(viewport);
    if (path !== undefined) await page.goto(path);
    return page;
  }

  /** Sets the clock of a page. Tests that call `setFixedTime` themselves would leave their time to the next test. */
  setTime(page: Page, now: number): Promise<void> {
    return this.#setTime(page.context(), now);
  }

  /** Sets the clock of a context, unless it has this time: each call adds a script to all its later pages. */
  async #setTime(context: BrowserContext, now: string | number): Promise<void> {
    if (this.#times.get(context) === now) return;
    await context.clock.setFixedTime(now);
    this.#times.set(context, now);
  }

  /**
   * Disconnects a page from the network until the test calls `setOffline(false)` of its context, which later tests do not use. The
   * empty page of the context is closed: a page whose network is back reports this to every page of its process, also to one that
   * is still disconnected.
   */
  async goOffline(page: Page): Promise<void> {
    const context = page.context();
    const kept = this.#kept.get(context);
    this.#kept.delete(context);
    await kept?.emptyPage.close();
    await context.setOffline(true);
  }

  async #newContext(origin: string, options: BrowserContextOptions): Promise<BrowserContext> {
    const context = await this.#browser!.newContext({
      timezoneId: 'UTC',
      baseURL: origin,
      reducedMotion: 'reduce',
      ...options,
    });
    this.#contexts.add(context);
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
    context.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !/^(blob|data):/.test(request.url()))
        this.faults.push(`request to another origin: ${request.url()}`);
    });
    context.on('weberror', (error) => this.faults.push(String(error.error())));
    context.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !isProvoked(message))
        this.faults.push(`${message.text()} ${message.location().url}`);
    });
    return context;
  }

  /** Returns a kept context that this test does not use yet. */
  async #keptContext(origin: string, locale: string): Promise<BrowserContext> {
    for (const [context, kept] of this.#kept) {
      if (kept.origin !== origin || kept.locale !== locale || this.#contexts.has(context)) continue;
      this.#contexts.add(context);
      return context;
    }
    const context = await this.#newContext(origin, { locale });
    const emptyPage = await context.newPage();
    this.#kept.set(context, { origin, locale, emptyPage, session: await context.newCDPSession(emptyPage) });
    context.once('close', () => this.#kept.delete(context));
    return context;
  }

  /** Closes the pages of a test, and fails the test if one of them had a fault. */
  async #endTest(): Promise<void> {
    const contexts = [...this.#contexts];
    this.#contexts.clear();
    for (const context of contexts) {
      const kept = this.#kept.get(context);
      for (const page of context.pages().filter((one) => one !== kept?.emptyPage)) {
        // A test may still hold back a request. When its page is closed, the error of the request must not fail the next test.
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await page.close();
      }
      if (kept) await makeNew(context, kept);
      else await context.close();
    }
    expect(this.faults.splice(0)).toEqual([]);
  }

  /** Expects that axe-core finds no violation (WCAG 2.2 AA and best practices), with all rules or some of them. */
  async expectAccessible(page: Page, rules: 'all' | keyof typeof RULES = 'all'): Promise<void> {
    // The content security policy would block a script tag, so the automation protocol runs the script.
    if (!(await page.evaluate('"axe" in window'))) {
      // An argument is not parsed as a script, and a stream of a `Response` does not leave the process of the page.
      await page.evaluate(
        async (compressed) => {
          const stream = new Response(
            (Uint8Array as unknown as Base64Reader).fromBase64(compressed),
          ).body!.pipeThrough(new DecompressionStream('gzip'));
          Object.assign(globalThis, { axeSource: await new Response(stream).text() });
        },
        (axe ??= await readAxe()),
      );
      // Without `noHtml` axe-core serializes each element that it checks, also those without a violation.
      await page.evaluate(
        '(0, eval)(axeSource), delete globalThis.axeSource, axe.configure({ noHtml: true })',
      );
    }
    const options = {
      resultTypes: ['violations'],
      // Only rules for audio and video, and rules that are not enabled, need style sheets or media to be loaded again.
      preload: false,
      ...(rules === 'all' ? { rules: { 'target-size': { enabled: true } } } : { runOnly: RULES[rules] }),
    };
    const violations = (await page.evaluate(
      `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) =>
        id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join('; ')))`,
    )) as string[];
    expect(violations).toEqual([]);
  }

  /**
   * Expects that the page is accessible and does not scroll sideways, in light and dark, narrow and wide, and at 200 % zoom, that
   * its controls have edges in forced colours, and that they are large enough on a phone.
   */
  expectAccessibleLayout(page: Page): Promise<void> {
    return profiled('checking a page', () => this.#expectAccessibleLayout(page));
  }

  async #expectAccessibleLayout(page: Page): Promise<void> {
    await page.emulateMedia({ forcedColors: 'active' });
    expect(await page.evaluate(CONTROLS_WITHOUT_EDGE)).toEqual([]);
    let currentWidth: number | undefined;
    for (const { width, colorScheme, rules } of APPEARANCES) {
      await page.emulateMedia({ forcedColors: 'none', colorScheme });
      if (width !== currentWidth) await this.#expectLayoutAt(page, (currentWidth = width));
      await this.expectAccessible(page, rules);
    }
  }

  /**
   * Expects what other texts could break on a page whose accessibility is checked elsewhere: that it does not scroll sideways,
   * narrow and wide and at 200 % zoom, and that its controls are large enough on a phone.
   */
  async expectLayout(page: Page): Promise<void> {
    for (const width of [PHONE_WIDTH, ZOOMED_WIDTH, DESKTOP_WIDTH]) await this.#expectLayoutAt(page, width);
  }

  async #expectLayoutAt(page: Page, width: number): Promise<void> {
    await this.#expectNoOverflow(page, width);
    if (width === PHONE_WIDTH) expect(await page.evaluate(SMALL_CONTROLS)).toEqual([]);
  }

  async #expectNoOverflow(page: Page, width: number): Promise<void> {
    await page.setViewportSize({ width, height: 800 });
    // A ResizeObserver gives a chart its new width after the first frame, and later if the chart is still being loaded.
    const overflow = await page.evaluate(`(async () => {
      for (let frame = 1; ; frame += 1) {
        await new Promise(requestAnimationFrame);
        const { scrollWidth, clientWidth } = document.documentElement;
        if ((frame > 2 && scrollWidth === clientWidth) || frame > ${MAX_LAYOUT_FRAMES}) return scrollWidth - clientWidth;
      }
    })()`);
    expect({ width, overflow }).toEqual({ width, overflow: 0 });
  }
}

/** Makes a kept context as it was when it was new. */
async function makeNew(context: BrowserContext, { origin, session }: KeptContext): Promise<void> {
  await context.unrouteAll({ behavior: 'ignoreErrors' });
  await context.clearPermissions();
  await context.clearCookies();
  await session.send('Network.clearBrowserCache');
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
}

interface PageOptions extends Omit<BrowserContextOptions, 'viewport'> {
  readonly viewport?: { readonly width: number; readonly height: number };
  /** The time of the browser's clock; by default that at which the service's `FakeClock` starts. */
  readonly now?: string;
  /** What the page loads; by default nothing. */
  readonly path?: string;
  /**
   * False if the test replaces the timers of the browser (`clock.install`): they would stay replaced. Its page has all its timers.
   */
  readonly isContextKept?: boolean;
}
