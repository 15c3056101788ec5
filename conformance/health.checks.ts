import { demand, type Check } from './check.ts';
import { at, demandJson, formatValue } from './shape.ts';

export const healthChecks: readonly Check[] = [
  {
    title: 'GET /health/live reports that the process runs',
    run: async (service) => {
      const answer = await service.ask('GET', '/health/live');
      demandJson(answer, 200);
      demand(
        at(answer.json, 'status') === 'ok',
        `status is ${formatValue(at(answer.json, 'status'))}, not ok.`,
      );
    },
  },
  {
    title: 'GET /health/ready reports that the service is ready, with warnings for its operator',
    run: async (service) => {
      const answer = await service.ask('GET', '/health/ready');
      demandJson(answer, 200);
      const [status, warnings] = ['status', 'warnings'].map((name) => at(answer.json, name));
      demand(status === 'ready', `status is ${formatValue(status)}, not ready.`);
      const areTexts = Array.isArray(warnings) && warnings.every((each) => typeof each === 'string');
      demand(areTexts, `warnings is ${formatValue(warnings)}, no list of texts.`);
    },
  },
];
