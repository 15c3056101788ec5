import { demand } from './check.ts';
import type { Answer } from './http.ts';

/** Describes an answer for a message: `POST /v1/activate answered 404 license_not_found`. */
export function describeAnswer({ request, status, json }: Answer): string {
  const code = at(json, 'code');
  return `${request} answered ${status}${typeof code === 'string' ? ` ${code.slice(0, 40)}` : ''}`;
}

/** Demands a JSON answer with one of these statuses. */
export function demandJson(answer: Answer, ...statuses: number[]): void {
  demand(statuses.includes(answer.status), `${describeAnswer(answer)}, not ${statuses.join(' or ')}.`);
  const type = answer.headers['content-type'];
  demand(
    /^application\/json *(;|$)/i.test(type ?? ''),
    `${describeAnswer(answer)} as ${type ?? 'nothing'}, not application/json.`,
  );
  demand(isObject(answer.json), `${describeAnswer(answer)} with a body that is not a JSON object.`);
}

/** Demands a refusal with this status and code. problems.checks.ts checks the form of all refusals. */
export function demandRefusal(answer: Answer, status: number, code: string): void {
  const wanted = `${status} ${code}`;
  demand(
    answer.status === status && at(answer.json, 'code') === code,
    `${describeAnswer(answer)}, not ${wanted}.`,
  );
}

/** Demands a refusal with 422 that lists exactly these members. */
export function demandInvalid(answer: Answer, what: string, ...pointers: string[]): void {
  demand(
    answer.status === 422 && at(answer.json, 'code') === 'invalid_request',
    `${what}: ${describeAnswer(answer)}, not 422 invalid_request.`,
  );
  const errors = at(answer.json, 'errors');
  const named = Array.isArray(errors) ? errors.map((each) => at(each, 'pointer')) : [];
  demand(
    named.toSorted().join() === pointers.toSorted().join(),
    `${what}: errors[] names ${formatValue(named.join(' '))}, not ${formatValue(pointers.join(' '))}.`,
  );
}

/** Returns a nested member, or undefined if a part of the path is missing. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inside, name) =>
      typeof inside === 'object' && inside !== null && Object.hasOwn(inside, name)
        ? (inside as Record<string | number, unknown>)[name]
        : undefined,
    value,
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats a value for a message, shortened. */
export function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** What a value must be, in words, and a function that tests it. */
type Rule = readonly [what: string, holds: (value: unknown) => boolean];
const matching = (what: string, pattern: RegExp): Rule => [
  what,
  (value) => typeof value === 'string' && pattern.test(value),
];
const orNull = ([what, holds]: Rule): Rule => [`${what} or null`, (value) => value === null || holds(value)];

const TIME: Rule = [
  'a time such as 2026-11-20T13:00:00Z',
  (value) =>
    typeof value === 'string' &&
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
];

/** The shapes of the contract's members. */
const SHAPES = {
  time: TIME,
  timeOrNull: orNull(TIME),
  id: matching('a UUIDv7', /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  token: matching('a text of 1 to 600 characters', /^.{1,600}$/),
  hostnameHint: orNull(matching('a text of 1 to 100 characters', /^.{1,100}$/u)),
  count: [
    'an integer of at least 1',
    (value) => typeof value === 'number' && Number.isInteger(value) && value >= 1,
  ],
  active: matching('active', /^active$/),
  version: matching('a dotted numeric version', /^(?=.{1,32}$)\d+(\.\d+){0,3}$/),
  sha256: matching('64 hex digits', /^[0-9a-f]{64}$/),
  sha256OrNull: orNull(matching('64 hex digits', /^[0-9a-f]{64}$/)),
  thumbprint: matching('an RFC 7638 thumbprint', /^[\w-]{43}$/),
  signature: matching('a signature in base64url', /^[\w-]{85}[AQgw]$/),
  httpsUrl: matching('an https URL', /^https:\/\/[^\s\\/?#@%<>^|]+([/?#][^\s\\]*)?$/),
  text: matching('a text', /\S/),
} as const satisfies Record<string, Rule>;

/**
 * Demands that members have these shapes: `{ 'license.status': 'active' }`.
 * @param of the object that has the members, as messages name it
 */
export function demandMembers(
  value: unknown,
  members: Record<string, keyof typeof SHAPES>,
  of = 'the answer',
): void {
  for (const [path, shape] of Object.entries(members)) {
    const [what, holds] = SHAPES[shape];
    const member = at(value, ...path.split('.'));
    demand(holds(member), `${path} of ${of} is ${formatValue(member)}, not ${what}.`);
  }
}
