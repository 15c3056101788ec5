import type { APIResponse, Page, Route } from 'playwright-core';

// No test removes the last route of a page, also not with `times`: Playwright then stops intercepting requests, and Chromium
// never answers a request that the page sends at that moment.

/** Ends the effect of a route that refused, changed or held back requests: later requests of the page reach the service. */
export const endRoute = (page: Page, url = '**'): Promise<unknown> =>
  page.route(url, (route) => route.continue());

/** Passes the next request to a URL to a handler. Later requests go to the service. */
export async function routeNext(page: Page, url: string, handle: (route: Route) => unknown): Promise<void> {
  let isNext = true;
  await page.route(url, async (route) => {
    if (!isNext) return route.continue();
    isNext = false;
    await handle(route);
  });
}

/** Answers a request of a page, and ends when the page has the answer. */
export async function fulfillRoute(page: Page, route: Route, response: APIResponse): Promise<void> {
  const finished = page.waitForEvent('requestfinished', (request) => request === route.request());
  await Promise.all([finished, route.fulfill({ response })]);
}

/**
 * Holds back the answer to the next request to a URL.
 * @returns `held`, which resolves once the service has answered, with a function that passes the answer on and ends when the page
 * has it
 */
export async function holdNextAnswer(
  page: Page,
  url: string,
): Promise<{ held: Promise<() => Promise<void>> }> {
  const { promise: held, resolve } = Promise.withResolvers<() => Promise<void>>();
  await routeNext(page, url, async (route) => {
    const response = await route.fetch();
    resolve(() => fulfillRoute(page, route, response));
  });
  return { held };
}
