import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import { open, request } from '../support/http/raw-http.js';

// The requests are counted only with METRICS_PORT.
const service = await Service.start({ environment: { METRICS_PORT: '0' } });

test('a connection that requests thousands of responses and reads none does not keep other clients from being served', async () => {
  const license = await service.issue();
  const { load } = service.app.getHttpAdapter().getInstance().requestCounts!;
  let accepted: Socket | undefined;
  service.app.getHttpServer().once('connection', (socket: Socket) => (accepted = socket));
  const connection = await open(service.url);
  try {
    // The responses are far larger than the kernel's buffer of a connection.
    connection.pause().write(Buffer.concat(Array.from({ length: 20_000 }, () => request('GET', '/v1/keys'))));
    // Waits until the service cannot send more, because nothing is read, and responses wait in the service.
    let before: number | undefined;
    do {
      before = accepted?.bytesWritten;
      await pause(200);
    } while (!before || before !== accepted?.bytesWritten || accepted.writableLength === 0);
    // Every response is made, but none is read.
    while (load.underWay > 0) await pause(5);
    const { status, json } = await service.activate(license);
    expect([status, (await service.heartbeat(json.token)).status]).toEqual([201, 200]);
  } finally {
    connection.destroy();
  }
});
