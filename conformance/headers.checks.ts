import { demand, type Check } from './check.ts';
import type { Answer } from './http.ts';
import { shown, described } from './shape.ts';

/** Holds every answer seen so far against a rule. */
const ofEach =
  (judge: (answer: Answer) => void): Check['run'] =>
  async (service) =>
    service.answers.forEach(judge);

/** The two that everyone gets alike; where they are refused, the rule holds for them too. */
const mayBeKept = ({ request, status }: Answer) => /\/v1\/(manifest|keys)$/.test(request) && status < 400;

const demandNone = (name: string) =>
  ofEach((answer) => {
    const value = answer.headers[name];
    demand(value === undefined, `${described(answer)} with ${name}: ${shown(value)}.`);
  });

/** Reads the answers to the checks before it, so it comes after them. */
export const headerChecks: readonly Check[] = [
  {
    title: 'No answer is kept: cache-control is no-store, but for the manifest and the keys',
    run: ofEach((answer) => {
      if (mayBeKept(answer)) return;
      const value = answer.headers['cache-control'];
      demand(/^no-store$/i.test(value ?? ''), `${described(answer)} with cache-control ${shown(value)}.`);
    }),
  },
  { title: 'No answer sets a cookie', run: demandNone('set-cookie') },
  { title: 'No answer has a server header', run: demandNone('server') },
];
