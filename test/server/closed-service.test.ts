import { expect, test } from '@jest/globals';
import { queryObjects } from 'node:v8';
import { NestContainer } from '@nestjs/core';
import { Service } from '../support/harness.js';

// A process runs many test files, which start hundreds of services. If an object that is kept longer referred to each closed
// service, all of them would stay in memory.
const countContainers = () => Number(queryObjects(NestContainer));

test('closed services are freed', async () => {
  const startAndClose = async () => (await Service.start()).close();
  await startAndClose();
  const before = countContainers();
  for (let services = 0; services < 3; services += 1) await startAndClose();
  expect(countContainers() - before).toBeLessThan(3);
});
