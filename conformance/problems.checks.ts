import { demand, NotChecked, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import type { Answer } from './http.ts';
import { CLIENT_ACTIONS, CODES } from './problems.ts';
import { at, demandMembers, shown, described } from './shape.ts';

/** Holds every refusal seen so far against a rule. */
const ofEach =
  (judge: (problem: Answer) => void): Check['run'] =>
  async (service) => {
    for (const problem of refusals(service)) judge(problem);
  };

function refusals(service: Deployment): Answer[] {
  const seen = service.answers.filter(({ status, request }) => status >= 400 && !request.startsWith('HEAD'));
  if (seen.length === 0) throw new NotChecked('nothing was refused');
  return seen;
}

/** The refusals of which something can be read. */
const withCode = (judge: (problem: Answer, code: string) => void): Check['run'] =>
  ofEach((problem) => {
    const code = at(problem.json, 'code');
    if (typeof code === 'string') judge(problem, code);
  });

/** Reads the answers to the checks before it, so it comes after them. */
export const problemChecks: readonly Check[] = [
  {
    title: 'Every refusal is an application/problem+json document',
    run: ofEach((problem) => {
      const type = problem.headers['content-type'];
      demand(/^application\/problem\+json\b/i.test(type ?? ''), `${described(problem)} as ${shown(type)}.`);
      demand(at(problem.json, 'code') !== undefined, `${described(problem)} without a code.`);
    }),
  },
  {
    title: 'Each has type, title, status, code, detail, client_action and request_id',
    run: withCode((problem) => {
      const of = `"${described(problem)}"`;
      demandMembers(problem.json, { title: 'text', detail: 'text', request_id: 'text' }, of);
      const { status, json } = problem;
      demand(at(json, 'status') === status, `status of ${of} is ${shown(at(json, 'status'))}.`);
      demand(at(json, 'client_action') !== undefined, `${of} has no client_action.`);
    }),
  },
  {
    title: 'Each type is the address of /docs/errors at its code',
    run: withCode((problem, code) => {
      const type = String(at(problem.json, 'type'));
      const isThere = /^https?:\/\/[^\s#]+\/docs\/errors#/.test(type) && type.endsWith(`#${code}`);
      demand(isThere, `type of "${described(problem)}" is ${shown(type)}.`);
    }),
  },
  {
    title: 'Each code has the status and the client_action of the contract',
    run: withCode((problem, code) => {
      const action = String(at(problem.json, 'client_action'));
      demand(CLIENT_ACTIONS.includes(action), `client_action of ${code} is ${shown(action)}.`);
      const wanted = CODES[code];
      // Codes may be added.
      if (!wanted) return;
      demand(problem.status === wanted[0], `${described(problem)}, and this code is ${wanted[0]}.`);
      demand(action === wanted[1], `client_action of ${code} is ${action}, not ${wanted[1]}.`);
    }),
  },
  {
    title: 'errors is a member of invalid_request alone, each with pointer and detail',
    run: withCode((problem, code) => {
      const errors = at(problem.json, 'errors');
      if (code !== 'invalid_request')
        return demand(errors === undefined, `${described(problem)} has errors.`);
      demand(Array.isArray(errors) && errors.length > 0, `${described(problem)} has no errors.`);
      for (const error of errors) {
        demandMembers(error, { detail: 'text' }, `errors of "${described(problem)}"`);
        const pointer = at(error, 'pointer');
        demand(/^\/\w/.test(String(pointer)), `${described(problem)} has the pointer ${shown(pointer)}.`);
      }
    }),
  },
  {
    title: 'Each request_id is another',
    run: async (service) => {
      const ids = refusals(service).flatMap(({ json }) => at(json, 'request_id') ?? []);
      if (ids.length === 0) throw new NotChecked('no refusal has a request_id');
      demand(new Set(ids).size === ids.length, 'Two refusals have the same request_id.');
    },
  },
  {
    title: 'No refusal repeats a submitted value',
    run: ofEach((problem) => {
      const text = problem.body.toString('utf8');
      const escaped = (value: string) => JSON.stringify(value).slice(1, -1);
      const repeats = problem.sent.some((value) => text.includes(value) || text.includes(escaped(value)));
      demand(!repeats, `${described(problem)} and repeats a value of the request.`);
    }),
  },
  {
    title: 'Whatever is sent, nothing is an error of the service',
    run: async (service) => {
      const failed = service.answers.find(({ status }) => status >= 500);
      demand(!failed, failed ? `${described(failed)}.` : '');
    },
  },
];
