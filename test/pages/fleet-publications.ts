import { publish } from '../manifest/publish.js';
import type { Service } from '../support/harness.js';

/** One version before the two weeks that the tests show, one in the first week and one in the second. */
const PUBLICATIONS = [
  ['2026-10-30', '3.0.0'],
  ['2026-11-03', '3.1.0'],
  ['2026-11-10', '3.2.0'],
] as const;

export async function publishVersions(service: Service): Promise<void> {
  const now = service.clock.now();
  for (const [day, version] of PUBLICATIONS) {
    service.clock.set(`${day}T10:00:00Z`);
    await publish(service, version);
  }
  service.clock.set(now);
}
