import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { Invalid, type Field } from '../../core/field.js';
import { problem } from '../problems/problem.js';

interface MemberOptions<Body> {
  /** @returns a violated rule about several members, as the sentence for this one */
  readonly rule?: (body: Body) => string | undefined;
  /** Whether the member is read at all. */
  readonly when?: (body: Body) => boolean;
}

/** A member of a request body. Its property gets the canonical value; MembersPipe refuses an invalid one. */
export function Member<Body>(
  { parse }: Field<unknown>,
  { rule, when }: MemberOptions<Body> = {},
): PropertyDecorator {
  const isRead = (body: unknown) => !when || when(body as Body);
  const refusal = (value: unknown, body: unknown) => {
    const broken = rule?.(body as Body);
    if (broken !== undefined) return broken;
    // Transform does not run for an absent member.
    const parsed = value === undefined && isRead(body) ? parse(undefined) : value;
    return parsed instanceof Invalid ? parsed.sentence : undefined;
  };
  return applyDecorators(
    Transform(({ value, obj }) => (isRead(obj) ? parse(value) : undefined)) as PropertyDecorator,
    ValidateBy({
      name: 'member',
      validator: {
        validate: (value, given) => refusal(value, given!.object) === undefined,
        defaultMessage: (given) => refusal(given!.value, given!.object)!,
      },
    }) as PropertyDecorator,
  );
}

/** On a body whose members are all optional: a request without a body is one without members. */
export const MayBeLeftOut = Reflector.createDecorator<object>();

/** A parameter with a member of the body as it was sent; undefined if it is absent. It is not in the DTO. */
export const RawMember = createParamDecorator((name: string, context: ExecutionContext): unknown => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  return ownMember(readObject(body), name);
});

/** An inherited name, such as `constructor`, is not a member. */
export function ownMember(body: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}

/** @throws Problem `malformed_request` if the body is not a JSON object */
export function readObject(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw problem('malformed_request');
  return body as Record<string, unknown>;
}
