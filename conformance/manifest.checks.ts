import { demand, NotChecked, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import type { Answer, Question } from './http.ts';
import { manifestAnswer, published } from './manifest.ts';
import { at, demandJson, demandRefusal, shown, described } from './shape.ts';

const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

/** All that a caller may say of himself. */
const TALKATIVE: Record<string, string> = {
  'user-agent': 'Conformance/0.0.0.1',
  accept: 'text/html',
  'accept-encoding': 'gzip, br',
  'accept-language': 'de',
  authorization: 'Bearer conformance',
  cookie: 'session=conformance',
  origin: 'https://conformance.invalid',
  referer: 'https://conformance.invalid/',
};

/** Reads the manifest another way, and demands what everyone gets. */
async function demandSame(service: Deployment, path: string, question: Question): Promise<void> {
  const first = await published(service);
  const answer = await service.ask('GET', path, question);
  demand(answer.status === 200, `${described(answer)}, not 200.`);
  demand(answer.body.equals(first.body), 'The answer has other bytes than that of the first caller.');
}

async function etag(service: Deployment): Promise<string> {
  const { headers } = await published(service);
  if (!headers.etag) throw new NotChecked('there is no etag');
  return headers.etag;
}

const directives = (answer: Answer) =>
  (answer.headers['cache-control'] ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .toSorted()
    .join(', ');

export const manifestChecks: readonly Check[] = [
  {
    title: 'The manifest answers 200, or 404 no_version_published, which stops nothing',
    run: async (service) => {
      const answer = await manifestAnswer(service);
      if (answer.status === 404) {
        demandRefusal(answer, 404, 'no_version_published');
        const action = at(answer.json, 'client_action');
        demand(action === 'retry', `client_action is ${shown(action)}, not retry.`);
      } else {
        demandJson(answer, 200);
      }
    },
  },
  {
    title: 'The manifest may be kept for 5 minutes, and for a day while the service is unavailable',
    run: async (service) => {
      const answer = await published(service);
      const wanted = CACHE_CONTROL.split(', ').toSorted().join(', ');
      const value = answer.headers['cache-control'];
      demand(directives(answer) === wanted, `cache-control is ${shown(value)}, not ${CACHE_CONTROL}.`);
    },
  },
  {
    title: "The manifest varies on nothing of the client's",
    run: async (service) => {
      const { vary } = (await published(service)).headers;
      demand(vary === undefined, `The answer has vary: ${vary}.`);
    },
  },
  {
    title: 'The manifest has a strong etag',
    run: async (service) => {
      const { headers } = await published(service);
      demand(/^"[\x21\x23-\x7e]+"$/.test(headers.etag ?? ''), `etag is ${shown(headers.etag)}.`);
    },
  },
  {
    title: '304 without a body to a client that has it, named by if-none-match',
    run: async (service) => {
      const tag = await etag(service);
      for (const name of [tag, `"conformance", W/${tag}`]) {
        const answer = await service.ask('GET', '/v1/manifest', { headers: { 'if-none-match': name } });
        demand(answer.status === 304, `${described(answer)} to if-none-match, not 304.`);
        demand(answer.body.length === 0, 'The 304 has a body.');
        demand(answer.headers.etag === tag, `The 304 has etag ${shown(answer.headers.etag)}, not ${tag}.`);
      }
    },
  },
  {
    title: '200 with the whole of it to a client that has another',
    run: (service) => demandSame(service, '/v1/manifest', { headers: { 'if-none-match': '"conformance"' } }),
  },
  {
    title: 'HEAD answers as GET does, with the same headers',
    run: async (service) => {
      const get = await published(service);
      const head = await service.ask('HEAD', '/v1/manifest');
      demand(head.status === 200, `${described(head)}, not 200.`);
      for (const name of ['etag', 'cache-control', 'content-type', 'content-length'] as const) {
        const [one, other] = [get.headers[name], head.headers[name]];
        // HEAD may leave the length out, and GET has none where it sends in chunks (RFC 9110, 9.3.2).
        if (name === 'content-length' && !(one && other)) continue;
        demand(one === other, `HEAD has ${name} ${shown(other)}, GET ${shown(one)}.`);
      }
    },
  },
  {
    title: 'The same bytes for everyone, whatever they say of themselves',
    run: (service) => demandSame(service, '/v1/manifest', { headers: TALKATIVE }),
  },
  {
    title: 'A query string is ignored',
    run: (service) => demandSame(service, '/v1/manifest?version=9.9.9&x[]=%zz', {}),
  },
];
