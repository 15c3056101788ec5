import { demand, type Check } from './check.ts';
import type { Answer } from './http.ts';
import { formatValue, describeAnswer } from './shape.ts';

/** Checks all answers so far. */
const forEachAnswer =
  (check: (answer: Answer) => void): Check['run'] =>
  async (service) =>
    service.answers.forEach(check);

/** Whether an answer has the manifest or the keys, which are the same for all callers. Refusals must not be cached. */
const mayBeCached = ({ request, status }: Answer) => /\/v1\/(manifest|keys)$/.test(request) && status < 400;

const demandNoHeader = (name: string) =>
  forEachAnswer((answer) => {
    const value = answer.headers[name];
    demand(value === undefined, `${describeAnswer(answer)} with ${name}: ${formatValue(value)}.`);
  });

/** These checks read the answers to the earlier checks, so they come last. */
export const headerChecks: readonly Check[] = [
  {
    title: 'cache-control is no-store, except for the manifest and the keys',
    run: forEachAnswer((answer) => {
      if (mayBeCached(answer)) return;
      const value = answer.headers['cache-control'];
      demand(
        /^no-store$/i.test(value ?? ''),
        `${describeAnswer(answer)} with cache-control ${formatValue(value)}.`,
      );
    }),
  },
  {
    title: 'Each answer has a date, to which a retry-after is relative',
    run: forEachAnswer((answer) => {
      const { date } = answer.headers;
      const time = Date.parse(date ?? '');
      demand(
        !Number.isNaN(time) && new Date(time).toUTCString() === date,
        `${describeAnswer(answer)} with the date ${formatValue(date)}.`,
      );
    }),
  },
  { title: 'No answer sets a cookie', run: demandNoHeader('set-cookie') },
  { title: 'No answer has a server header', run: demandNoHeader('server') },
];
