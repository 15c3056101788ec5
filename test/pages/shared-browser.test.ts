import { expect, test } from '@jest/globals';
import { leftovers, sharedState } from '../support/runner/leftovers.mjs';
import { giveBack, takeBrowser } from './shared-browser.js';

test('the browser is kept for the next test file, and is not reported as left behind', async () => {
  await (await takeBrowser()).close();
  const before = await sharedState();
  const browser = await takeBrowser();
  await giveBack(browser);
  expect(await leftovers(before)).toEqual([]);
  expect(await takeBrowser()).toBe(browser);
  await giveBack(browser);
});

test('a context that a file leaves behind is reported and closed', async () => {
  const browser = await takeBrowser();
  await browser.newContext();
  await expect(giveBack(browser)).rejects.toThrow('left behind: 1 contexts of the browser');
  expect(browser.contexts()).toEqual([]);
});
