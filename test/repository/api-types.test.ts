import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readOpenApi } from '../support/http/openapi.js';

interface Generator {
  apiTypes(document: unknown): string;
}
// @ts-expect-error: the script is JavaScript without declarations.
const { apiTypes }: Generator = await import('../../scripts/api-types.mjs');

test('src/http/responses/api-types.ts is current (npm run docs:api-types writes it)', () => {
  const file = new URL('../../src/http/responses/api-types.ts', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(apiTypes(readOpenApi()));
});

test('the generator writes references, optional members, null and records, and refuses an unknown type', () => {
  const documentOf = (schema: object) => ({
    paths: {
      '/portal/api/x': {
        get: {
          responses: {
            200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/X' } } } },
          },
        },
      },
      // The generator writes no type for the response of this path, so its unknown type is no error.
      '/portal/api/export': {
        get: { responses: { 200: { content: { 'application/json': { schema: { type: 'file' } } } } } },
      },
    },
    components: { schemas: { X: schema, Id: { type: 'string' }, Y: { type: 'array', items: { const: 1 } } } },
  });
  const object = (name: string) => ({ type: 'object', properties: { [name]: { type: 'null' } } });
  const properties = {
    id: { $ref: '#/components/schemas/Id', description: 'Which one.' },
    all: { $ref: '#/components/schemas/Y' },
    end: { type: ['string', 'null'], enum: ['a', null] },
    rows: { type: 'object', patternProperties: { '^a$': { type: 'integer' } } },
    either: { type: 'array', items: { oneOf: [{ type: 'null' }, { type: 'boolean' }] } },
    objects: { type: 'array', items: { oneOf: [object('a'), object('b')] } },
  };
  const text = apiTypes(documentOf({ type: 'object', required: ['id', 'all', 'end', 'rows'], properties }));
  expect(text.split('\n\n').slice(1).join('\n\n')).toBe(`export interface X {
  /** Which one. */
  readonly id: string;
  readonly all: Y;
  readonly end: 'a' | null;
  readonly rows: Readonly<Record<string, number>>;
  readonly either?: readonly (null | boolean)[];
  readonly objects?: readonly ({
    readonly a?: null;
  } | {
    readonly b?: null;
  })[];
}

export type Y = readonly 1[];
`);
  expect(() => apiTypes(documentOf({ type: 'object', properties: { x: { type: 'file' } } }))).toThrow(
    'No TypeScript type',
  );
});
