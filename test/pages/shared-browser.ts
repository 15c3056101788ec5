import { ChildProcess } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { chromium, type Browser, type BrowserContext, type LaunchOptions } from 'playwright-core';
import { profiled } from '../support/profile.js';
import { shareProcess } from '../support/runner/shared-processes.mjs';

/** The timeout of each browser operation. It is shorter than that of a test (`jest.config.js`), so that a hanging page is named. */
export const PAGE_TIMEOUT_MS = 300_000;

/**
 * Pages of one context share a process. Its start takes most of the time that a new page needs, so an empty page (`emptyPage` in
 * browser.ts) keeps it running between tests.
 */
const SHARED_PROCESS = ['--renderer-process-limit=1', '--disable-site-isolation-trials'];

/** A worker that gets a signal ends without waiting for its browser, which ends when the pipes to the worker are closed. */
const NO_SIGNAL_HANDLERS = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };

/**
 * A page of a test lives for seconds. Optimizing its code takes longer than the optimized code saves. No test looks at pixels, so
 * Chromium gets no memory to draw them.
 */
const FOR_SHORT_LIVES = ['--js-flags=--no-turbofan --no-maglev', '--force-gpu-mem-available-mb=0'];

interface Started {
  readonly browser: Browser;
  readonly child: ChildProcess;
}

let shared: Started | undefined;

/** Returns the Chromium of this worker process, which test files use one after the other, until `giveBack`. */
export async function takeBrowser(): Promise<Browser> {
  if (!shared?.browser.isConnected()) shared = await profiled('starting a browser', start);
  for (const handle of handlesOf(shared)) handle.ref();
  return shared.browser;
}

/**
 * Ends the use by a test file.
 * @param kept a context that the next file may use
 * @throws Error if the file leaves another context behind, which could affect a later file
 */
export async function giveBack(browser: Browser, kept?: BrowserContext): Promise<void> {
  const contexts = browser.contexts().filter((context) => context !== kept);
  for (const context of contexts) await context.close();
  // A worker process may end although its browser still runs.
  if (shared?.browser === browser) for (const handle of handlesOf(shared)) handle.unref();
  if (contexts.length > 0) throw new Error(`left behind: ${contexts.length} contexts of the browser`);
}

async function start(): Promise<Started> {
  const { args = [], ...options } = JSON.parse(process.env['MOORING_TEST_CHROMIUM']!) as LaunchOptions;
  const children: ChildProcess[] = [];
  const collect = (message: unknown) => children.push((message as { process: ChildProcess }).process);
  const listeners = process.listeners('exit');
  diagnostics.subscribe('child_process', collect);
  const browser = await chromium
    .launch({
      ...options,
      ...NO_SIGNAL_HANDLERS,
      args: [...args, ...SHARED_PROCESS, ...FOR_SHORT_LIVES],
      timeout: PAGE_TIMEOUT_MS,
    })
    .finally(() => diagnostics.unsubscribe('child_process', collect));
  const child = children.find(({ spawnfile }) => spawnfile === options.executablePath)!;
  shareProcess(child);
  // The listener of Playwright would count as left behind. `shareProcess` ends the browser in place of it.
  for (const listener of process.listeners('exit'))
    if (!listeners.includes(listener)) process.off('exit', listener);
  return { browser, child };
}

const handlesOf = ({ child }: Started) =>
  [child, ...child.stdio].filter((handle) => handle instanceof ChildProcess || handle instanceof Socket);
