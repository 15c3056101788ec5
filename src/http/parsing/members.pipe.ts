import { ArgumentMetadata, Injectable, PipeTransform } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { getMetadataStorage, ValidateBy, validateSync } from 'class-validator';
import { readJson } from './json-body.js';
import { invalidMembers, problem } from '../problems/problem.js';
import { isStorableText } from './text.js';

type Dto = new () => object;

/**
 * A member of a request body, with the rule it keeps.
 * @param rule returns a sentence that says what the member must be, or undefined where it is right; it may look at the
 * other members
 * @param storable whether PostgreSQL takes the value; for a member that is looked at, and not kept, always true
 */
export function Member<Body = unknown>(
  rule: (value: unknown, body: Body) => string | undefined,
  { storable = isStorable } = {},
): PropertyDecorator {
  return ValidateBy({
    name: 'member',
    validator: {
      validate: (value, given) => storable(value) && rule(value, given!.object as Body) === undefined,
      defaultMessage: (given) =>
        (storable(given?.value) ? rule(given?.value, given!.object as Body) : undefined) ??
        'must not hold a NUL or half a surrogate pair',
    },
  });
}

/** On a body whose members are all optional: a request without a body is one that names none of them. */
export const MayBeLeftOut = Reflector.createDecorator<object>();

const isStorable = (value: unknown) => typeof value !== 'string' || isStorableText(value);

/**
 * Makes a DTO of a body: copies the members the class names and no others (unknown ones leave no trace), and refuses
 * the wrong ones with a pointer each. Nothing here descends into the body, so its depth costs nothing. The ids in an
 * address it puts into the one spelling that PostgreSQL gives.
 */
@Injectable()
export class MembersPipe implements PipeTransform {
  readonly #members = new Map<Dto, string[]>();

  transform(sent: unknown, { type, metatype }: ArgumentMetadata): unknown {
    // Either case names the same row; but ids are also compared, and written into jobs, tombstones and the audit trail.
    if (type === 'param') return String(sent).toLowerCase();
    if (type !== 'body') return sent;
    const leftOut = sent === undefined && Reflect.hasMetadata(MayBeLeftOut.KEY, metatype as Dto);
    const body = leftOut ? {} : Buffer.isBuffer(sent) ? readJson(sent) : sent;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) throw problem('malformed_request');
    const request = new (metatype as Dto)();
    for (const name of this.membersOf(metatype as Dto)) {
      if (Object.hasOwn(body, name))
        Object.assign(request, { [name]: (body as Record<string, unknown>)[name] });
    }
    const errors = validateSync(request, {
      stopAtFirstError: true,
      validationError: { target: false, value: false },
    });
    if (errors.length === 0) return request;
    const sentence = (constraints?: Record<string, string>) =>
      Object.values(constraints ?? {})[0] ?? 'is not valid';
    throw invalidMembers(
      Object.fromEntries(errors.map((error) => [error.property, sentence(error.constraints)])),
    );
  }

  private membersOf(dto: Dto): string[] {
    const known = this.#members.get(dto);
    if (known) return known;
    const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
    const members = [...new Set(metadata.map(({ propertyName }) => propertyName))];
    // An `import type` of the class would leave `Object` here, and let everything through.
    if (members.length === 0) throw new Error(`${dto.name} names no members`);
    this.#members.set(dto, members);
    return members;
  }
}
