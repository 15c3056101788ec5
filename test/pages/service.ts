import { Service, type ServiceOptions } from '../support/harness.js';
import { freePort, isFreePort } from '../support/processes/server-process.js';
import { TestBrowser } from './browser.js';

const browser = new TestBrowser();
/** The services of a worker have one origin, so that its browser can keep a context from one test file to the next. */
let port = await freePort();

/** Starts a service whose PUBLIC_URL is http://localhost with a port, and the browser of this worker for the tests of the file. */
export async function startForBrowser(
  options: ServiceOptions = {},
): Promise<{ service: Service; origin: string; browser: TestBrowser }> {
  browser.startForFile();
  // Another test run may have taken the port meanwhile.
  if (!(await isFreePort(port))) port = await freePort();
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
