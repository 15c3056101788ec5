import { Service, type ServiceOptions } from '../support/harness.js';
import { freePort } from '../support/processes/server-process.js';

/** A service for a browser: at http://localhost, which is its PUBLIC_URL, on a port of its own. */
export async function startForBrowser(
  options: ServiceOptions = {},
): Promise<{ service: Service; origin: string }> {
  const port = await freePort();
  const environment = { PORT: String(port), ...options.environment };
  const service = await Service.start({ ...options, environment });
  return { service, origin: `http://localhost:${port}` };
}
