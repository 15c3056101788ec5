import { demand, type Check } from './check.ts';
import { at, demandJson, shown } from './shape.ts';

export const healthChecks: readonly Check[] = [
  {
    title: 'GET /health/live answers that the process runs',
    run: async (service) => {
      const answer = await service.ask('GET', '/health/live');
      demandJson(answer, 200);
      demand(at(answer.json, 'status') === 'ok', `status is ${shown(at(answer.json, 'status'))}, not ok.`);
    },
  },
  {
    title: 'GET /health/ready answers that it is ready, with the warnings for its operator',
    run: async (service) => {
      const answer = await service.ask('GET', '/health/ready');
      demandJson(answer, 200);
      const [status, warnings] = ['status', 'warnings'].map((name) => at(answer.json, name));
      demand(status === 'ready', `status is ${shown(status)}, not ready.`);
      const areTexts = Array.isArray(warnings) && warnings.every((each) => typeof each === 'string');
      demand(areTexts, `warnings is ${shown(warnings)}, no list of texts.`);
    },
  },
];
