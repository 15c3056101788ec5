import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { DataValidateFunction } from 'ajv/dist/types/index.js';
import formats from 'ajv-formats';
import { parse } from 'yaml';
import { ofThisFile } from '../of-this-file.js';

/*
 * Checks responses against docs/openapi.yaml. A status, media type, body or member that the document does not describe is a
 * violation, though a client must ignore such a member. Of the headers that it does not describe, only those in FORBIDDEN_HEADERS
 * are violations.
 */

interface Header {
  required?: boolean;
}
interface Response {
  headers?: Record<string, Header>;
  content?: Record<string, object>;
}
interface Operation {
  responses: Record<string, Response>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}
/** A value in the document, with its JSON pointer in which every `$ref` is resolved. */
interface Place<T> {
  pointer: string;
  value: T;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'patch', 'trace'];
// Responses have no `server` header (docs/contract.md#common-rules), and a cookie only where one is documented.
const FORBIDDEN_HEADERS = ['server', 'set-cookie', 'x-powered-by'];
const DOCUMENT_URL = 'https://mooring.invalid/openapi.yaml';

/** Parses the document. @returns a new object each time */
export const readOpenApi = (): unknown =>
  parse(readFileSync(new URL('../../../docs/openapi.yaml', import.meta.url), 'utf8'));
export const openapi = readOpenApi() as Document;

const ajv = new Ajv2020({
  allErrors: true,
  discriminator: true,
  allowUnionTypes: true,
  strictRequired: false,
});
formats.default(ajv);
ajv.removeKeyword('contentSchema');
ajv.addKeyword({ keyword: 'contentSchema', type: 'string', errors: true, compile: contentSchema });
// The document itself is not a schema, but `ajv` must find the schemas in it by pointers.
ajv.addVocabulary(Object.keys(openapi));
ajv.addSchema(closeSchemas(openapi) as Document, DOCUMENT_URL);
const compiled = new Map<string, ValidateFunction>();

/** The documented responses that `validateAnswer` has checked, each as `METHOD template status`. */
const seenOfFile = ofThisFile(() => new Set<string>());
export const seenAnswers = (): ReadonlySet<string> => seenOfFile();

/** The routes of the document with their path templates: `{ method: 'POST', path: '/v1/activate' }`. */
export function documentedRoutes(): { method: string; path: string }[] {
  return Object.entries(openapi.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({ method: method.toUpperCase(), path })),
  );
}

/** Replaces each parameter of a documented path, such as `{id}`, by this value. */
export const fillPath = (path: string, value: string) => path.replaceAll(/\{\w+\}/g, () => value);

/** Every response of the document, in the format of `seenAnswers`. */
export function documentedAnswers(): string[] {
  return documentedRoutes().flatMap(({ method, path }) =>
    Object.keys(openapi.paths[path]![method.toLowerCase()]!.responses).map(
      (status) => `${method} ${path} ${status}`,
    ),
  );
}

/**
 * Lists the responses of these routes in docs/openapi.yaml that the tests of the calling file have not received so far, each as
 * `METHOD template status`.
 * @param routes matches the responses in this form
 */
export function unseenResponses(routes: RegExp): string[] {
  const documented = documentedAnswers().filter((answer) => routes.test(answer));
  if (documented.length === 0)
    throw new Error(`docs/openapi.yaml documents no response that matches ${routes}`);
  return documented.filter((answer) => !seenAnswers().has(answer));
}

/**
 * Checks a response. @returns a sentence for each violation, none if the response is as documented
 * @param path the path of the request; a query string is ignored
 */
export function validateAnswer(
  method: string,
  path: string,
  status: number,
  headers: Record<string, string>,
  body: string,
): string[] {
  const verb = method.toUpperCase();
  const found = responsePlace(verb, path.split(/[?#]/, 1)[0]!, status);
  if (typeof found === 'string') return [found];
  const given = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return [...headerViolations(found, given), ...bodyViolations(found, given, verb, body)];
}

/** The violations of a value against the schema at a pointer of the document. */
export function schemaViolations(pointer: string, value: unknown): string[] {
  let validate = compiled.get(pointer);
  if (!validate) {
    validate = ajv.compile({ $ref: `${DOCUMENT_URL}#${encodeURI(pointer)}` });
    compiled.set(pointer, validate);
  }
  return validate(value) ? [] : (validate.errors ?? []).map(sentence);
}

/** Resolves a pointer, and each `$ref` on its path. */
export function follow<T>(pointer: string): Place<T> {
  let place: Place<unknown> = { pointer: '', value: openapi };
  for (const token of pointer.split('/').slice(1)) {
    const parent = place.value as Record<string, unknown>;
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    place = { pointer: `${place.pointer}/${token}`, value: parent[name] };
    const reference = (place.value as { $ref?: unknown } | undefined)?.$ref;
    if (typeof reference === 'string') place = follow(reference.slice(1));
  }
  return place as Place<T>;
}

/** Escapes a name for use in a JSON pointer. */
export function escapePointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function responsePlace(verb: string, path: string, status: number): Place<Response> | string {
  // The response to HEAD is that to GET without the body.
  const method = verb === 'HEAD' ? 'get' : verb.toLowerCase();
  const fitting = Object.keys(openapi.paths).filter((known) => matches(known, path));
  // `/licenses/search` also matches the template `/licenses/{id}`, which has other methods.
  const template = fitting.find((known) => method in openapi.paths[known]!) ?? fitting[0];
  if (template === undefined) {
    return status === 404
      ? follow('/components/responses/NotFound')
      : `${path} is unknown, yet answers ${status}`;
  }
  const operation = METHODS.includes(method) ? openapi.paths[template]![method] : undefined;
  if (!operation) {
    return status === 405
      ? follow('/components/responses/MethodNotAllowed')
      : `${verb} ${template} is not documented, yet answers ${status}`;
  }
  if (!(status in operation.responses)) return `${verb} ${template} does not document ${status}`;
  // The response to HEAD has no body, so it does not count as one to GET.
  seenOfFile().add(`${verb} ${template} ${status}`);
  return follow(`/paths/${escapePointerToken(template)}/${method}/responses/${status}`);
}

function matches(template: string, path: string): boolean {
  const expected = template.split('/');
  const segments = path.split('/');
  return (
    expected.length === segments.length &&
    expected.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
  );
}

function headerViolations(response: Place<Response>, given: Map<string, string>): string[] {
  const documented = Object.keys(response.value.headers ?? {});
  const violations = FORBIDDEN_HEADERS.filter((name) => given.has(name) && !documented.includes(name)).map(
    (name) => `header ${name} is sent`,
  );
  for (const name of documented) {
    const header = follow<Header>(`${response.pointer}/headers/${escapePointerToken(name)}`);
    const value = given.get(name.toLowerCase());
    if (value === undefined) {
      if (header.value.required) violations.push(`header ${name} is missing`);
      continue;
    }
    const wrong = schemaViolations(`${header.pointer}/schema`, value);
    violations.push(...wrong.map((what) => `header ${name}: ${what}`));
  }
  return violations;
}

function bodyViolations(
  response: Place<Response>,
  given: Map<string, string>,
  verb: string,
  body: string,
): string[] {
  const expected = Object.keys(response.value.content ?? {});
  const mediaType = given.get('content-type')?.split(';', 1)[0]!.trim().toLowerCase();
  if (expected.length === 0) return body === '' ? [] : ['a body is sent where none is documented'];
  if (mediaType === undefined || !expected.includes(mediaType)) {
    return [`content-type is ${mediaType ?? 'missing'}, not ${expected.join(' or ')}`];
  }
  if (verb === 'HEAD') return body === '' ? [] : ['HEAD sends a body'];
  const schema = `${response.pointer}/content/${escapePointerToken(mediaType)}/schema`;
  if (!/[/+]json$/.test(mediaType)) return schemaViolations(schema, body);
  const value = parsed(body);
  return value === undefined ? ['the body is not JSON'] : schemaViolations(schema, value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Copies a part of the document so that an object may have no member that its schema does not list. */
function closeSchemas(part: unknown, pointer = ''): unknown {
  // Problems with codes that are added later have members that this schema does not list.
  if (typeof part !== 'object' || part === null || pointer === '/components/schemas/Problem') return part;
  if (Array.isArray(part)) return part.map((item) => closeSchemas(item));
  const copy = Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, closeSchemas(value, `${pointer}/${name}`)]),
  );
  return copy['type'] === 'object' && copy['properties'] ? { ...copy, additionalProperties: false } : copy;
}

// In JSON Schema `contentSchema` is only an annotation. Clients read the `signed` text of the manifest, so it is checked here.
function contentSchema(schema: { $ref: string }): DataValidateFunction {
  const validate: DataValidateFunction = (text: string) => {
    const value = parsed(text);
    const wrong = value === undefined ? ['is not JSON'] : schemaViolations(schema.$ref.slice(1), value);
    const errors: Partial<ErrorObject>[] = wrong.map((message) => ({ keyword: 'contentSchema', message }));
    validate.errors = errors;
    return errors.length === 0;
  };
  return validate;
}

// The sentence does not contain the value: a response may hold a key or a token, which must not be in a log.
function sentence(error: ErrorObject): string {
  const { additionalProperty, unevaluatedProperty } = error.params ?? {};
  const member = additionalProperty ?? unevaluatedProperty;
  return `${error.instancePath || '/'} ${error.message}${member === undefined ? '' : `: ${member}`}`;
}
