import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Service } from './harness.js';

let service: Service;
beforeAll(async () => void (service = await Service.start()));
afterAll(() => service.close());

test('is live and ready, with nothing to warn of, when it listens', async () => {
  expect((await service.call('GET', '/health/live')).json).toEqual({ status: 'ok' });
  expect((await service.call('GET', '/health/ready')).json).toEqual({ status: 'ready', warnings: [] });
});

test('activates and beats, end to end', async () => {
  const license = await service.issue();
  const activated = await service.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
  expect(activated.status).toBe(201);
  const beat = await service.heartbeat(activated.json.token, {
    telemetry: { arch: 'arm64', cpu_cores: 'eight' },
  });
  expect(beat.status).toBe(200);
  expect(beat.json.telemetry).toEqual({ stored: true, dropped: ['cpu_cores'] });
});
