import { Service, type ServiceOptions } from '../support/harness.js';
import { freePort } from '../support/processes/server-process.js';

/** Starts a service for a browser: its PUBLIC_URL is http://localhost with a free port. */
export async function startForBrowser(
  options: ServiceOptions = {},
): Promise<{ service: Service; origin: string }> {
  const port = await freePort();
  const environment = { PORT: String(port), ...options.environment };
  const service = await Service.start({ ...options, environment });
  return { service, origin: `http://localhost:${port}` };
}
