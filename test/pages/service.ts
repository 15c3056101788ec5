import { Service, type ServiceOptions } from '../support/harness.js';
import { freePort } from '../support/processes/server-process.js';
import { TestBrowser } from './browser.js';

/** Starts a service whose PUBLIC_URL is http://localhost with a free port, and a browser for the tests of the file. */
export async function startForBrowser(
  options: ServiceOptions = {},
): Promise<{ service: Service; origin: string; browser: TestBrowser }> {
  const browser = TestBrowser.startForFile();
  const port = await freePort();
  const environment = { PORT: String(port), ...options.environment };
  const service = await Service.start({ ...options, environment });
  // A page reads the time of the service from this header, for which Node would use its own clock.
  service.app
    .getHttpServer()
    .prependListener('request', (_request, response) =>
      response.setHeader('date', service.clock.now().toUTCString()),
    );
  return { service, origin: `http://localhost:${port}`, browser };
}
