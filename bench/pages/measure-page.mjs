/** A slow phone: https://github.com/GoogleChrome/lighthouse/blob/main/docs/throttling.md, "Slow 4G". */
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };
const PROCESSOR_SLOWDOWN = 4;

/**
 * Loads a page with an empty cache, a slow network and a slow processor.
 * @param context of playwright-core; its cookies decide whether the page is signed in
 * @param {string} path
 * @param {string} selector of the element with which the page can be used
 * @param {{ width: number, height: number }} size of the window
 * @returns the bytes transferred with headers, without the logo (`bytes`) and of the logo (`logoBytes`), the milliseconds from the
 *   navigation until the element was visible, and the layout shift
 */
export async function measurePage(context, path, selector, size) {
  const page = await context.newPage();
  try {
    await page.setViewportSize(size);
    const protocol = await context.newCDPSession(page);
    const logoRequests = new Set();
    let [bytes, logoBytes] = [0, 0];
    protocol.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (new URL(request.url).pathname.endsWith('/brand/logo')) logoRequests.add(requestId);
    });
    protocol.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (logoRequests.has(requestId)) logoBytes += encodedDataLength;
      else bytes += encodedDataLength;
    });
    await protocol.send('Network.enable');
    await protocol.send('Network.setCacheDisabled', { cacheDisabled: true });
    await protocol.send('Network.emulateNetworkConditions', NETWORK);
    await protocol.send('Emulation.setCPUThrottlingRate', { rate: PROCESSOR_SLOWDOWN });
    await page.addInitScript(recordTimes, selector);
    await page.goto(path, { waitUntil: 'networkidle' });
    await page.locator(selector).filter({ visible: true }).first().waitFor();
    await page.waitForFunction(() => [...document.images].every(({ complete }) => complete));
    return { bytes, logoBytes, ...(await page.evaluate(() => globalThis.recorded)) };
  } finally {
    await page.close();
  }
}

/** Runs in the page before its own scripts. */
function recordTimes(selector) {
  const recorded = (globalThis.recorded = { usableMs: null, shift: 0 });
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) recorded.shift += value;
  }).observe({ type: 'layout-shift', buffered: true });
  const lookForElement = () => {
    if (!document.querySelector(selector)?.checkVisibility()) requestAnimationFrame(lookForElement);
    // After this frame the element is on the screen.
    else requestAnimationFrame(() => (recorded.usableMs = performance.now()));
  };
  lookForElement();
}
