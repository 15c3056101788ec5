import { Reflector } from '@nestjs/core';
import { Invalid, type Field } from '../../core/field.js';
import { isObject } from '../../core/json-object.js';
import { invalidMembers, problem } from '../problems/problem.js';

interface MemberOptions<Body> {
  /** Whether the field reads objects. Others get an empty object in place of one, so that they do not read its content. */
  readonly mayBeObject?: boolean;
  /**
   * Checks a rule about several members. It is called also if members are invalid, which then have an `Invalid` as their value.
   * @returns the sentence for this member if the rule is violated
   */
  rule?(this: void, body: Body): string | undefined;
  /**
   * Whether the member is read; otherwise it counts as absent. By default it is read. The function receives the body before it is
   * parsed, so it may test only whether a member is present or has a value that parsing does not change.
   */
  when?(this: void, body: Body): boolean;
}

/** A member that a DTO class declares. */
type DeclaredMember = Field<unknown> & MemberOptions<unknown>;
const membersByDto = new Map<unknown, Map<string, DeclaredMember>>();

/** Returns the members that a DTO class declares, by name. */
export function membersOf(dto: { name: string }): ReadonlyMap<string, DeclaredMember> {
  const members = membersByDto.get(dto);
  // With `import type` of the DTO class, Nest would pass `Object`, which has no members and would accept every body.
  if (!members) throw new Error(`${dto.name} names no members`);
  return members;
}

/**
 * Parses the members of a body.
 * @returns an instance of the DTO class @throws Problem `invalid_request` with a sentence for each member that is invalid
 */
export function parseMembers<Dto extends object>(
  dto: new () => Dto,
  given: Readonly<Record<string, unknown>>,
): Dto {
  const body = new dto();
  const members = membersOf(dto);
  const refused = new Map<string, string>();
  for (const [name, { parse, when }] of members) {
    if (when && !when(given)) continue;
    const isAbsent = given[name] === undefined;
    // An absent member keeps the default of the class.
    if (isAbsent && Reflect.get(body, name) !== undefined) continue;
    const parsed = parse(given[name]);
    if (parsed instanceof Invalid) refused.set(name, parsed.sentence);
    // An absent member is parsed only to refuse it if it is required. Its property stays undefined.
    if (!isAbsent) Reflect.set(body, name, parsed);
  }
  const details: [string, string][] = [];
  for (const [name, { rule }] of members) {
    const detail = rule?.(body) ?? refused.get(name);
    if (detail !== undefined) details.push([name, detail]);
  }
  if (details.length > 0) throw invalidMembers(Object.fromEntries(details));
  return body;
}

/**
 * Declares a member of a request body, or a parameter of a query. The property gets the canonical value; `MembersPipe` refuses an
 * invalid value.
 */
export function Member<Body>(
  { parse }: Field<unknown>,
  options: MemberOptions<Body> = {},
): PropertyDecorator {
  return ({ constructor }, name) => {
    const members = membersByDto.get(constructor) ?? new Map<string, DeclaredMember>();
    members.set(String(name), { parse, ...options });
    membersByDto.set(constructor, members);
  };
}

/** Marks a DTO whose members are all optional. A request without a body then counts as a request with the body `{}`. */
export const OptionalBody = Reflector.createDecorator<object>();

/** Returns a member of the body; undefined if it is absent. An inherited name, such as `constructor`, is not a member. */
export function ownMember(body: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}

/** Returns a body that is a JSON object. @throws Problem `malformed_request` if it is not */
export function readObject(body: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(body)) throw problem('malformed_request');
  return body;
}
