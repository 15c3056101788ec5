import { demand, type Check } from './check.ts';
import type { Answer } from './http.ts';
import { shown, told } from './shape.ts';

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
    demand(value === undefined, `${told(answer)} with ${name}: ${shown(value)}.`);
  });

/** Looks at what was answered to the checks before; so it stands after them. */
export const headerChecks: readonly Check[] = [
  {
    title: 'No answer is kept: cache-control is no-store, but for the manifest and the keys',
    run: ofEach((answer) => {
      if (mayBeKept(answer)) return;
      const said = answer.headers['cache-control'];
      demand(/^no-store$/i.test(said ?? ''), `${told(answer)} with cache-control ${shown(said)}.`);
    }),
  },
  { title: 'No answer sets a cookie', run: demandNone('set-cookie') },
  { title: 'No answer has a server header', run: demandNone('server') },
];
