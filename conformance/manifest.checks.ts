import { demand, type Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import type { Answer, RequestOptions } from './http.ts';
import { manifestAnswer, publishedManifest } from './manifest.ts';
import { NotChecked } from './not-checked.ts';
import { at, demandJson, demandRefusal, formatValue, describeAnswer } from './shape.ts';

const CACHE_CONTROL = 'public, max-age=300, stale-if-error=86400';

/** Headers by which a caller can be distinguished from others. */
const IDENTIFYING_HEADERS: Record<string, string> = {
  'user-agent': 'Conformance/0.0.0.1',
  accept: 'text/html',
  'accept-encoding': 'gzip, br',
  'accept-language': 'de',
  authorization: 'Bearer conformance',
  cookie: 'session=conformance',
  origin: 'https://conformance.invalid',
  referer: 'https://conformance.invalid/',
};

/** Requests the manifest in another way, and demands the same bytes as in the first answer. */
async function demandSame(service: Deployment, path: string, options: RequestOptions): Promise<void> {
  const first = await publishedManifest(service);
  const answer = await service.ask('GET', path, options);
  demand(answer.status === 200, `${describeAnswer(answer)}, not 200.`);
  demand(
    answer.body.equals(first.body),
    'The bytes differ from those of the first answer with the manifest.',
  );
}

async function etagOfManifest(service: Deployment): Promise<string> {
  const { headers } = await publishedManifest(service);
  if (!headers.etag) throw new NotChecked('the manifest has no etag');
  return headers.etag;
}

/** Returns the directives of cache-control, sorted, because their order has no meaning. */
const sortedDirectives = (answer: Answer) =>
  (answer.headers['cache-control'] ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .toSorted()
    .join(', ');

export const manifestChecks: readonly Check[] = [
  {
    title: 'The manifest is answered with 200, or with 404 no_version_published and client_action retry',
    run: async (service) => {
      const answer = await manifestAnswer(service);
      if (answer.status === 404) {
        demandRefusal(answer, 404, 'no_version_published');
        const action = at(answer.json, 'client_action');
        demand(action === 'retry', `client_action is ${formatValue(action)}, not retry.`);
      } else {
        demandJson(answer, 200);
      }
    },
  },
  {
    title: 'The manifest may be cached for 5 minutes, and for a day while the service is unavailable',
    run: async (service) => {
      const answer = await publishedManifest(service);
      const expected = CACHE_CONTROL.split(', ').toSorted().join(', ');
      const value = answer.headers['cache-control'];
      demand(
        sortedDirectives(answer) === expected,
        `cache-control is ${formatValue(value)}, not ${CACHE_CONTROL}.`,
      );
    },
  },
  {
    title: 'The manifest has no vary header',
    run: async (service) => {
      const { vary } = (await publishedManifest(service)).headers;
      demand(vary === undefined, `The answer has vary: ${vary}.`);
    },
  },
  {
    title: 'The manifest has a strong etag',
    run: async (service) => {
      const { headers } = await publishedManifest(service);
      demand(/^"[\x21\x23-\x7e]+"$/.test(headers.etag ?? ''), `etag is ${formatValue(headers.etag)}.`);
    },
  },
  {
    title: 'A request with the etag in if-none-match is answered with 304, without a body',
    run: async (service) => {
      const tag = await etagOfManifest(service);
      for (const ifNoneMatch of [tag, `"conformance", W/${tag}`]) {
        const answer = await service.ask('GET', '/v1/manifest', {
          headers: { 'if-none-match': ifNoneMatch },
        });
        demand(answer.status === 304, `${describeAnswer(answer)} to if-none-match, not 304.`);
        demand(answer.body.length === 0, 'The 304 has a body.');
        demand(
          answer.headers.etag === tag,
          `The 304 has etag ${formatValue(answer.headers.etag)}, not ${tag}.`,
        );
      }
    },
  },
  {
    title: 'A request with another etag is answered with 200 and the whole manifest',
    run: (service) => demandSame(service, '/v1/manifest', { headers: { 'if-none-match': '"conformance"' } }),
  },
  {
    title: 'HEAD is answered like GET, with the same headers',
    run: async (service) => {
      const get = await publishedManifest(service);
      const head = await service.ask('HEAD', '/v1/manifest');
      demand(head.status === 200, `${describeAnswer(head)}, not 200.`);
      for (const name of ['etag', 'cache-control', 'content-type', 'content-length'] as const) {
        const [one, other] = [get.headers[name], head.headers[name]];
        // HEAD may omit the length, and GET has none if it sends chunks (RFC 9110, section 9.3.2).
        if (name === 'content-length' && !(one && other)) continue;
        demand(one === other, `HEAD has ${name} ${formatValue(other)}, GET ${formatValue(one)}.`);
      }
    },
  },
  {
    title: 'The bytes are the same whatever headers the client sends',
    run: (service) => demandSame(service, '/v1/manifest', { headers: IDENTIFYING_HEADERS }),
  },
  {
    title: 'A query string is ignored',
    run: (service) => demandSame(service, '/v1/manifest?version=9.9.9&x[]=%zz', {}),
  },
];
