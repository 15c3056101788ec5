import { expect, test } from '@jest/globals';
import { queryObjects } from 'node:v8';
import { NestContainer } from '@nestjs/core';
import { Service } from '../support/harness.js';

// The test files of a process start hundreds of services. If something that outlives them refers to one, each stays in memory.
const countContainers = () => Number(queryObjects(NestContainer));

test('closed services are freed', async () => {
  const startAndClose = async () => (await Service.start()).close();
  await startAndClose();
  const before = countContainers();
  for (let services = 0; services < 3; services += 1) await startAndClose();
  expect(countContainers() - before).toBeLessThan(3);
});
