import fc from 'fast-check';
import { anyText } from '../support/any-text.js';
import { follow, openapi, escapePointerToken } from '../support/http/openapi.js';

/*
 * Valid, nearly valid and invalid values for the schemas of docs/openapi.yaml. If the test knows genuine values of a member (a
 * key, an id, a token), the member mostly gets one of them, or one with a character added, removed or replaced.
 */

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}
/** Genuine values, by the name of their member. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

const UNUSUAL_TEXTS = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\u202e',
  '💥',
  "' or 1=1 --",
  '../../../..',
  '%00',
  'x'.repeat(5_000),
  '__proto__',
];
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 2 ** 31, 2 ** 53, 1e308, [], {}, ...UNUSUAL_TEXTS),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A text with at most one character added, removed or replaced. */
const misspelt = (text: string) =>
  fc
    .tuple(fc.nat(text.length), fc.constantFrom('', 'x', '0', ' ', '\0', 'é'), fc.nat(1))
    .map(([at, inserted, removed]) => text.slice(0, at) + inserted + text.slice(at + removed));

/** Values for the schema at a pointer of the document. @param name the name of the member */
export function valuesFor(pointer: string, known: Known, name = ''): fc.Arbitrary<unknown> {
  const { value: schema, pointer: at } = follow<Schema>(pointer);
  const plausible = plausibleValuesFor(schema, at, known, name);
  return fc.oneof({ weight: 12, arbitrary: plausible }, { weight: 1, arbitrary: anything });
}

/** Valid and nearly valid values. */
function plausibleValuesFor(schema: Schema, at: string, known: Known, name: string): fc.Arbitrary<unknown> {
  if (schema.properties) return objectsFor(schema, at, known);
  const genuine = known[name];
  if (genuine) {
    const near = fc
      .constantFrom(...genuine)
      .chain((each) => (typeof each === 'string' ? misspelt(each) : anything));
    return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...genuine) }, { weight: 1, arbitrary: near });
  }
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const types = [schema.type ?? []].flat();
  const ofTypes = types.map((type) => valuesOfType(type, schema, at, known));
  const examples = schema.examples ? [fc.constantFrom(...schema.examples)] : [];
  return ofTypes.length + examples.length > 0 ? fc.oneof(...ofTypes, ...examples) : anything;
}

function objectsFor({ properties, required = [] }: Schema, at: string, known: Known): fc.Arbitrary<unknown> {
  const names = Object.keys(properties!);
  const members = Object.fromEntries(
    names.map((name) => [name, valuesFor(`${at}/properties/${escapePointerToken(name)}`, known, name)]),
  );
  const complete = fc.record(members, { requiredKeys: [...required] });
  const incomplete = fc.record(members, { requiredKeys: [] });
  return fc.oneof({ weight: 6, arbitrary: complete }, { weight: 1, arbitrary: incomplete });
}

function valuesOfType(type: string, schema: Schema, at: string, known: Known): fc.Arbitrary<unknown> {
  if (type === 'null') return fc.constant(null);
  if (type === 'boolean') return fc.boolean();
  if (type === 'array') return fc.array(valuesFor(`${at}/items`, known), { maxLength: 4 });
  if (type === 'object') return fc.dictionary(fc.string({ maxLength: 8 }), anything, { maxKeys: 4 });
  if (type === 'integer' || type === 'number') {
    const { minimum = -2, maximum = 2 ** 31 } = schema;
    return fc.integer({ min: minimum - 1, max: Math.min(maximum, 2 ** 52) + 1 });
  }
  if (schema.format === 'date-time')
    return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (schema.format === 'email') return fc.emailAddress();
  return anyText({ maxLength: 60 });
}

/** The pointer to the schema of a route's request body; undefined if it has none. */
export function bodyPointer(method: string, path: string): string | undefined {
  const operation = openapi.paths[path]![method.toLowerCase()] as { requestBody?: unknown };
  const pointer = `/paths/${escapePointerToken(path)}/${method.toLowerCase()}/requestBody/content/application~1json/schema`;
  return operation.requestBody ? pointer : undefined;
}
