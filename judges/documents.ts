import { readOpenApi } from '../test/support/http/openapi.js';

interface Response {
  readonly $ref?: string;
  readonly content?: { readonly 'application/problem+json'?: { readonly schema: Shape } };
}
interface Shape {
  readonly $ref?: string;
  readonly oneOf?: readonly Shape[];
}
interface Operation {
  readonly responses: Record<string, Response>;
}
// oxlint-disable-next-line no-explicit-any -- a schema is any tree, and the tests change it
type Tree = any;

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response>; schemas: Record<string, Tree> };
  'x-everywhere': Record<string, { readonly $ref: string }>;
}

/**
 * Reads docs/openapi.yaml, and adds a path for each response of `x-everywhere`: no operation has these responses, and Prism
 * validates only responses of operations.
 */
export function readDocument(): Document {
  const document = readOpenApi() as Document;
  for (const [name, response] of Object.entries(document['x-everywhere'])) {
    const reference = /^#\/components\/responses\/(.+)$/.exec(response.$ref);
    if (!reference) continue;
    const status = { method_not_allowed: '405' }[name]!;
    document.paths[`/x-everywhere/${name}`] = { get: { responses: { [status]: response } } };
  }
  return document;
}

/** A problem that is a response of an operation. */
export interface ProblemResponse {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string;
}

/** @returns every problem of every operation */
export function problemResponses({ paths, components }: Document): ProblemResponse[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.entries(responses ?? {}).flatMap(([status, entry]) => {
        const response = entry.$ref ? components.responses[entry.$ref.split('/').at(-1)!]! : entry;
        const schema = response.content?.['application/problem+json']?.schema;
        const shapes = schema?.oneOf ?? (schema ? [schema] : []);
        return shapes.map(({ $ref }) => ({
          method: method.toUpperCase(),
          path,
          status: Number(status),
          code: $ref!.split('/').at(-1)!,
        }));
      }),
    ),
  );
}

/**
 * Replaces the schema of a problem by a wrong schema that docs/openapi.yaml once had: Prism merges its `allOf`, and no text
 * matches the merged pattern.
 */
export function useUnmatchablePattern({ components: { schemas } }: Document, code: string): void {
  const { status, client_action } = schemas[code].properties;
  schemas[code] = {
    allOf: [{ $ref: '#/components/schemas/Problem' }],
    type: 'object',
    unevaluatedProperties: false,
    required: ['code'],
    properties: {
      type: { type: 'string', pattern: `/docs/errors#${code}$` },
      status,
      code: { const: code },
      client_action,
    },
  };
}

/**
 * Replaces the pattern of a license key by a wrong pattern that docs/openapi.yaml once had: it excludes the U of imported keys.
 */
export function useKeyPatternWithoutU({ components: { schemas } }: Document): void {
  const key = schemas['ActivationRequest'].properties.license_key;
  key.pattern = key.pattern.replaceAll('*[A-Za-z', '*[A-TV-Za-tv-z');
}
