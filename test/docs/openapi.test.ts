import { describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import {
  problem as refusalOf,
  problemDocument,
  PROBLEMS,
  type ProblemCode,
} from '../../src/http/problems/problem.js';
import {
  documentedAnswers,
  documentedRoutes,
  follow,
  openapi,
  schemaViolations,
  seenAnswers,
  escapePointerToken,
  validateAnswer,
} from '../support/http/openapi.js';

interface Example {
  where: string;
  schema: string;
  value: unknown;
}

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(openapi) as unknown as Record<string, unknown>);
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test('contains the target of every reference', () => {
    const dangling = objectsOf()
      .map(([, value]) => value.$ref)
      .filter((reference) => typeof reference === 'string')
      .filter((reference) => follow(reference.slice(1)).value === undefined);
    expect(dangling).toEqual([]);
  });

  const examples = allExamples();

  test('has examples of media types, headers and schemas', () => {
    for (const part of ['/requestBody/', '/responses/', '/components/headers/', '/components/schemas/']) {
      expect(examples.filter(({ where }) => where.includes(part)).length).toBeGreaterThan(1);
    }
  });

  test.each(examples)('has an example at $where that fits its schema', ({ schema, value }) => {
    expect(schemaViolations(schema, value)).toEqual([]);
  });

  const problems = examples
    .map(({ where, value }) => ({ where, value: value as Record<string, unknown> }))
    .filter(({ value }) => typeof value === 'object' && value !== null && String(value['code']) in PROBLEMS);

  test.each(problems)('has the texts of the catalogue in the example at $where', ({ value }) => {
    const members = ['type', 'title', 'status', 'code', 'detail', 'client_action', 'request_id'];
    const extras = Object.fromEntries(Object.entries(value).filter(([name]) => !members.includes(name)));
    const refusal = refusalOf(value['code'] as ProblemCode, extras as Parameters<typeof refusalOf>[1]);
    const document = problemDocument(refusal, 'http://localhost:3000', String(value['request_id']));
    expect(JSON.parse(document)).toEqual(value);
  });

  test('allows additional members in every object, because /v1 grows', () => {
    const closed = objectsOf()
      .filter(([, { properties }]) => properties !== undefined)
      .filter(([, { additionalProperties }]) => additionalProperties !== undefined);
    expect(closed.map(([pointer]) => pointer)).toEqual([]);
  });

  test('describes each problem as the catalogue has it', () => {
    const problems = objectsOf().filter(([pointer]) => /^\/components\/schemas\/[a-z_]+$/.test(pointer));
    expect(problems).toHaveLength(Object.keys(PROBLEMS).length);
    for (const [pointer, value] of problems) {
      const code = pointer.split('/').at(-1) as keyof typeof PROBLEMS;
      const { status, client_action } = PROBLEMS[code];
      expect(value).toMatchObject({
        properties: {
          code: { const: code },
          status: { const: status },
          client_action: { const: client_action },
        },
      });
    }
  });

  test('describes these routes and no other', () => {
    expect(documentedRoutes().map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/activate',
      'POST /v1/heartbeat',
      'GET /v1/manifest',
      'GET /v1/keys',
      'POST /v1/purchases',
      'GET /portal/api/session',
      'POST /portal/api/session',
      'DELETE /portal/api/session',
      'POST /portal/api/session/code',
      'GET /portal/api/licenses',
      'POST /portal/api/licenses/{id}/send-key',
      'POST /portal/api/activations/{id}/release-request',
      'POST /portal/api/activations/{id}/release',
      'GET /portal/api/export',
      'POST /portal/api/erasure',
      'DELETE /portal/api/erasure',
      'GET /support/api/session',
      'POST /support/api/session',
      'DELETE /support/api/session',
      'POST /support/api/session/link',
      'POST /support/api/session/options',
      'GET /support/api/passkeys',
      'POST /support/api/passkeys',
      'POST /support/api/passkeys/options',
      'DELETE /support/api/passkeys/{id}',
      'PATCH /support/api/passkeys/{id}',
      'POST /support/api/licenses/search',
      'GET /support/api/licenses/{id}/holder',
      'POST /support/api/licenses',
      'GET /support/api/licenses/{id}',
      'PATCH /support/api/licenses/{id}',
      'POST /support/api/licenses/{id}/send-key',
      'POST /support/api/licenses/{id}/rekey',
      'POST /support/api/activations/{id}/release',
      'GET /support/api/release-requests',
      'GET /support/api/release-requests/mails',
      'POST /support/api/release-requests/{id}',
      'GET /support/api/erasures',
      'POST /support/api/erasures',
      'POST /support/api/erasures/{id}/run',
      'GET /support/api/fleet',
      'GET /support/api/fleet/crash-groups',
      'PATCH /support/api/fleet/crash-groups/{crash_sig}',
      'GET /support/api/audit',
      'GET /support/api/audit/filters',
      'GET /support/api/audit/export',
      'GET /support/api/staff',
      'POST /support/api/staff',
      'PATCH /support/api/staff/{id}',
      'POST /support/api/staff/{id}/remove',
      'POST /support/api/staff/{id}/link',
      'GET /support/api/tokens',
      'POST /support/api/tokens/{id}/revoke',
      'GET /support/api/manifests',
      'POST /support/api/manifests',
      'GET /support/api/retention',
      'GET /support/api/service',
      'GET /privacy/data',
      'GET /brand',
      'GET /brand/logo',
      'GET /languages',
      'GET /languages/{tag}/{page}',
      'GET /',
      'GET /health/live',
      'GET /health/ready',
      'GET /docs/errors',
    ]);
  });
});

describe('an answer', () => {
  const json = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  const problemHeaders = { ...json, 'content-type': 'application/problem+json' };
  const id = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
  const release = `/support/api/activations/${id}/release`;
  const manifestHeaders = {
    'content-type': 'application/json',
    etag: '"591ba05d3ea2fa35"',
    'cache-control': 'public, max-age=300, stale-if-error=86400',
  };

  test('as documented has no violation, and is remembered as seen', () => {
    expect(check('POST', '/v1/activate', 201, json, activated())).toEqual([]);
    expect(check('post', '/v1/activate?x=1', 200, json, activated())).toEqual([]);
    expect(check('POST', release, 401, problemHeaders, problem('sign_in_required', 401, 'fix'))).toEqual([]);
    const seen = [
      'POST /v1/activate 201',
      'POST /v1/activate 200',
      'POST /support/api/activations/{id}/release 401',
    ];
    expect([...seenAnswers()]).toEqual(expect.arrayContaining(seen));
    expect(documentedAnswers()).toEqual(expect.arrayContaining(seen));
  });

  // Clients must accept new members, but the service must send none that the document does not list.
  test('with an additional member is a violation, at the top level and below', () => {
    const top = { ...activated(), email: 'ada@example.com' };
    expect(check('POST', '/v1/activate', 201, json, top)).toEqual([
      '/ must NOT have additional properties: email',
    ]);
    const inner = activated();
    const leaking = { ...inner, license: { ...(inner.license as object), key_hash: 'x' } };
    expect(check('POST', '/v1/activate', 201, json, leaking)).toEqual([
      '/license must NOT have additional properties: key_hash',
    ]);
    const leakingProblem = { ...problem('license_not_found', 404, 'stop'), email: 'x' };
    expect(check('POST', '/v1/activate', 404, problemHeaders, leakingProblem)).toEqual([
      '/ must NOT have additional properties: email',
    ]);
  });

  test('that lacks a member, or gives it another shape, is a violation', () => {
    const { server_time: _, ...without } = activated();
    expect(check('POST', '/v1/activate', 201, json, without)).toEqual([
      "/ must have required property 'server_time'",
    ]);
    const fractions = { ...activated(), server_time: '2026-11-20T13:00:00.000Z' };
    expect(check('POST', '/v1/activate', 201, json, fractions)).toHaveLength(1);
  });

  test('with a status that is not documented is a violation', () => {
    expect(check('POST', '/v1/activate', 202, json, activated())).toEqual([
      'POST /v1/activate does not document 202',
    ]);
    expect(seenAnswers()).not.toContain('POST /v1/activate 202');
  });

  test('without a header it must have, or with one it must not have, is a violation', () => {
    expect(check('POST', '/v1/activate', 201, { 'content-type': 'application/json' }, activated())).toEqual([
      'header cache-control is missing',
    ]);
    const stored = { ...json, 'Cache-Control': 'public' };
    expect(check('POST', '/v1/activate', 201, stored, activated())).toEqual([
      'header cache-control: / must be equal to constant',
    ]);
    const unavailable = problem('unavailable', 503, 'retry');
    expect(check('GET', '/health/ready', 503, problemHeaders, unavailable)).toEqual([
      'header retry-after is missing',
    ]);
    expect(
      check('GET', '/health/ready', 503, { ...problemHeaders, 'retry-after': '7' }, unavailable),
    ).toEqual([]);
    expect(check('GET', '/health/live', 200, { ...json, server: 'x' }, { status: 'ok' })).toEqual([
      'header server is sent',
    ]);
  });

  test('of another content type, or not JSON, is a violation', () => {
    const html = { ...json, 'content-type': 'text/html' };
    expect(check('GET', '/health/live', 200, html, { status: 'ok' })).toEqual([
      'content-type is text/html, not application/json',
    ]);
    expect(validateAnswer('GET', '/health/live', 200, json, '{')).toEqual(['the body is not JSON']);
    expect(validateAnswer('GET', '/docs/errors', 200, html, '<!doctype html><p>')).toEqual([]);
    expect(validateAnswer('GET', '/docs/errors', 200, html, 'Errors')).toHaveLength(1);
  });

  test('to HEAD is that of GET without a body', () => {
    expect(validateAnswer('HEAD', '/v1/manifest', 200, manifestHeaders, '')).toEqual([]);
    expect(validateAnswer('HEAD', '/v1/manifest', 200, manifestHeaders, '{}')).toEqual(['HEAD sends a body']);
    expect(seenAnswers()).not.toContain('GET /v1/manifest 200');
  });

  test('with the status 304 has a valid strong etag and no body', () => {
    const { 'content-type': _, ...headers } = manifestHeaders;
    expect(validateAnswer('GET', '/v1/manifest', 304, headers, '')).toEqual([]);
    expect(validateAnswer('GET', '/v1/manifest', 304, headers, '{}')).toHaveLength(1);
    expect(validateAnswer('GET', '/v1/manifest', 304, { ...headers, etag: 'W/"1"' }, '')).toHaveLength(1);
  });

  test('of the manifest is checked inside the signed bytes too', () => {
    const manifest = exampleAt('/paths/~1v1~1manifest/get/responses/200');
    expect(check('GET', '/v1/manifest', 200, manifestHeaders, manifest)).toEqual([]);
    const signed = JSON.stringify({ ...JSON.parse(String(manifest.signed)), licenses_sold: 7 });
    expect(check('GET', '/v1/manifest', 200, manifestHeaders, { ...manifest, signed })).toEqual([
      '/signed / must NOT have additional properties: licenses_sold',
    ]);
    expect(check('GET', '/v1/manifest', 200, manifestHeaders, { ...manifest, signed: '{' })).toEqual([
      '/signed is not JSON',
    ]);
  });

  test('with a code of another route, or with another client_action or other members than its code has, is a violation', () => {
    const foreign = problem('token_invalid', 403, 'reactivate');
    expect(check('POST', '/v1/heartbeat', 403, problemHeaders, foreign)).toEqual([]);
    expect(check('POST', '/v1/activate', 403, problemHeaders, foreign)).toHaveLength(1);
    const stopping = problem('token_invalid', 403, 'stop');
    expect(check('POST', '/v1/heartbeat', 403, problemHeaders, stopping)).toEqual([
      '/client_action must be equal to constant',
    ]);
    const uncovered = exampleAt('/paths/~1v1~1activate/post/responses/403', 'examples/not_covered/value');
    expect(check('POST', '/v1/activate', 403, problemHeaders, uncovered)).toEqual([]);
    const leaking = { ...uncovered, expires_at: null };
    expect(check('POST', '/v1/activate', 403, problemHeaders, leaking)).toEqual([
      '/ must NOT have additional properties: expires_at',
    ]);
    // This code has four members of its own, all of which are missing.
    const bare = problem('machine_limit_reached', 409, 'stop');
    expect(check('POST', '/v1/activate', 409, problemHeaders, bare)).toHaveLength(4);
  });

  test('about an ended activation contains when and why it ended, about an active one neither', () => {
    const activation = exampleAt('/paths/~1support~1api~1activations~1{id}~1release/post/responses/200')
      .activation as object;
    expect(check('POST', release, 200, json, { activation, was_active: true })).toEqual([]);
    for (const change of [{ ended_at: null }, { ended_reason: null }, { state: 'active' }]) {
      const changed = { activation: { ...activation, ...change }, was_active: true };
      expect(check('POST', release, 200, json, changed)).not.toEqual([]);
    }
  });

  test('on an unknown path is 404 not_found, and nothing else', () => {
    const notFound = problem('not_found', 404, 'fix');
    expect(check('GET', '/v2/activate', 404, problemHeaders, notFound)).toEqual([]);
    expect(check('GET', '/v2/activate', 404, json, { message: 'Cannot GET' })).toHaveLength(1);
    expect(check('GET', '/v2/activate', 200, json, {})).toEqual(['/v2/activate is unknown, yet answers 200']);
    expect(check('POST', '/support/api/activations//release', 404, problemHeaders, notFound)).toEqual([]);
  });

  test('to another method on a known path is 405 with allow, and nothing else', () => {
    const refused = problem('method_not_allowed', 405, 'fix');
    const headers = { ...problemHeaders, allow: 'GET, HEAD' };
    expect(check('DELETE', '/v1/manifest', 405, headers, refused)).toEqual([]);
    expect(check('DELETE', '/v1/manifest', 405, problemHeaders, refused)).toEqual([
      'header allow is missing',
    ]);
    expect(check('DELETE', '/v1/manifest', 200, json, {})).toEqual([
      'DELETE /v1/manifest is not documented, yet answers 200',
    ]);
  });
});

function check(method: string, path: string, status: number, headers: Record<string, string>, body: unknown) {
  return validateAnswer(method, path, status, headers, JSON.stringify(body));
}

function activated(): Record<string, unknown> {
  return structuredClone(
    follow<{ value: Record<string, unknown> }>('/components/examples/Activated').value.value,
  );
}

function exampleAt(response: string, example = 'example'): Record<string, unknown> {
  const content = follow<object>(`${response}/content`);
  const mediaType = escapePointerToken(Object.keys(content.value)[0]!);
  return follow<Record<string, unknown>>(`${content.pointer}/${mediaType}/${example}`).value;
}

function problem(code: string, status: number, client_action: string): Record<string, unknown> {
  const type = `http://localhost:3000/docs/errors#${code}`;
  return { type, title: 'A title', status, code, detail: 'A sentence.', client_action, request_id: 'r1' };
}

/** Every object of the document with its JSON pointer, without the data of examples. */
function objectsOf(value: unknown = openapi, pointer = ''): [string, Record<string, unknown>][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value)
    .filter(([name]) => name !== 'example' && name !== 'examples')
    .flatMap(([name, child]) => objectsOf(child, `${pointer}/${escapePointerToken(name)}`));
  return Array.isArray(value) ? inner : [[pointer, value as Record<string, unknown>], ...inner];
}

/** Every example of the document, with the pointer of the schema that it must fit. */
function allExamples(): Example[] {
  return objectsOf().flatMap(([pointer, { schema, example, examples }]): Example[] => {
    const ownSchema = schema === undefined ? pointer : `${pointer}/schema`;
    const list: Example[] = [];
    if (example !== undefined) list.push({ where: `${pointer}/example`, schema: ownSchema, value: example });
    // The examples of `components` have no schema there. They are listed where a reference uses them.
    if (pointer === '/components' || examples === undefined) return list;
    for (const name of Object.keys(examples as object)) {
      const found = follow(`${pointer}/examples/${escapePointerToken(name)}`).value;
      const value = Array.isArray(examples) ? found : (found as { value: unknown }).value;
      list.push({ where: `${pointer}/examples/${escapePointerToken(name)}`, schema: ownSchema, value });
    }
    return list;
  });
}
