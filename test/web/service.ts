import { createServer } from 'node:net';
import { once } from 'node:events';
import { Service, type ServiceOptions } from '../harness.js';

/** A service for a browser: at http://localhost, which is its PUBLIC_URL, on a port that was free a moment ago. */
export async function startForBrowser(
  options: ServiceOptions = {},
): Promise<{ service: Service; origin: string }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  const environment = { PORT: String(port), ...options.environment };
  const service = await Service.start({ ...options, environment });
  return { service, origin: `http://localhost:${port}` };
}
