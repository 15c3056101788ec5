import { demand, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import type { Answer } from './http.ts';
import { NotChecked } from './not-checked.ts';
import { CLIENT_ACTIONS, CODES } from './problems.ts';
import { at, demandMembers, formatValue, describeAnswer } from './shape.ts';

/** Checks all refusals so far. */
const forEachRefusal =
  (check: (problem: Answer) => void): Check['run'] =>
  async (service) => {
    for (const problem of refusals(service)) check(problem);
  };

function refusals(service: Deployment): Answer[] {
  const seen = service.answers.filter(({ status, request }) => status >= 400 && !request.startsWith('HEAD'));
  if (seen.length === 0) throw new NotChecked('nothing was refused');
  return seen;
}

/** Checks all refusals so far that have a code. */
const forEachRefusalWithCode = (check: (problem: Answer, code: string) => void): Check['run'] =>
  forEachRefusal((problem) => {
    const code = at(problem.json, 'code');
    if (typeof code === 'string') check(problem, code);
  });

/** These checks read the answers to the earlier checks, so they come after them. */
export const problemChecks: readonly Check[] = [
  {
    title: 'Every refusal is an application/problem+json document',
    run: forEachRefusal((problem) => {
      const type = problem.headers['content-type'];
      demand(
        /^application\/problem\+json *(;|$)/i.test(type ?? ''),
        `${describeAnswer(problem)} as ${formatValue(type)}.`,
      );
      demand(at(problem.json, 'code') !== undefined, `${describeAnswer(problem)} without a code.`);
    }),
  },
  {
    title: 'Each refusal has title, status, detail, client_action and request_id',
    run: forEachRefusalWithCode((problem) => {
      const label = `"${describeAnswer(problem)}"`;
      demandMembers(problem.json, { title: 'text', detail: 'text', request_id: 'text' }, label);
      const { status, json } = problem;
      demand(at(json, 'status') === status, `status of ${label} is ${formatValue(at(json, 'status'))}.`);
      demand(at(json, 'client_action') !== undefined, `${label} has no client_action.`);
    }),
  },
  {
    title: 'Each type is the URL of /docs/errors with the code as its fragment',
    run: forEachRefusalWithCode((problem, code) => {
      const type = String(at(problem.json, 'type'));
      const isErrorsPage = /^https?:\/\/[^\s#]+\/docs\/errors#/.test(type) && type.endsWith(`#${code}`);
      demand(isErrorsPage, `type of "${describeAnswer(problem)}" is ${formatValue(type)}.`);
    }),
  },
  {
    title: 'Each code has the status and the client_action of the contract',
    run: forEachRefusalWithCode((problem, code) => {
      const action = String(at(problem.json, 'client_action'));
      demand(CLIENT_ACTIONS.includes(action), `client_action of ${code} is ${formatValue(action)}.`);
      const expected = CODES[code];
      // The contract allows new codes.
      if (!expected) return;
      demand(
        problem.status === expected[0],
        `${describeAnswer(problem)}, but this problem code has the status ${expected[0]}.`,
      );
      demand(action === expected[1], `client_action of ${code} is ${action}, not ${expected[1]}.`);
    }),
  },
  {
    title: 'Only invalid_request has errors, each with pointer and detail',
    run: forEachRefusalWithCode((problem, code) => {
      const errors = at(problem.json, 'errors');
      if (code !== 'invalid_request')
        return demand(errors === undefined, `${describeAnswer(problem)} has errors.`);
      demand(Array.isArray(errors) && errors.length > 0, `${describeAnswer(problem)} has no errors.`);
      for (const error of errors) {
        demandMembers(error, { detail: 'text' }, `errors of "${describeAnswer(problem)}"`);
        const pointer = at(error, 'pointer');
        demand(
          /^\/\w/.test(String(pointer)),
          `${describeAnswer(problem)} has the pointer ${formatValue(pointer)}.`,
        );
      }
    }),
  },
  {
    title: 'No two refusals have the same request_id',
    run: async (service) => {
      const ids = refusals(service).flatMap(({ json }) => at(json, 'request_id') ?? []);
      if (ids.length === 0) throw new NotChecked('no refusal has a request_id');
      demand(new Set(ids).size === ids.length, 'Two refusals have the same request_id.');
    },
  },
  {
    title: 'No refusal repeats a submitted value',
    run: forEachRefusal((problem) => {
      const text = problem.body.toString('utf8');
      const escaped = (value: string) => JSON.stringify(value).slice(1, -1);
      const repeats = problem.sent.some((value) => text.includes(value) || text.includes(escaped(value)));
      demand(!repeats, `${describeAnswer(problem)} and repeats a value of the request.`);
    }),
  },
  {
    title: 'No request is answered with a status of 500 or above',
    run: async (service) => {
      const failed = service.answers.find(({ status }) => status >= 500);
      demand(!failed, failed ? `${describeAnswer(failed)}.` : '');
    },
  },
];
